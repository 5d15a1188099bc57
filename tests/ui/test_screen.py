import io
import re
import shutil
import subprocess
import sys
import time

import pytest
from rich.console import Console

from rewardgen.store.history import History
from rewardgen.ui.plain import Plain
from rewardgen.ui.screen import Screen, render
from rewardgen.ui.view import view
from tests.ui.story import RUN_ID, events, until


def text_of(renderable, width):
    console = Console(width=width, file=io.StringIO(), markup=False, highlight=False)
    console.print(renderable)
    return console.file.getvalue()  # type: ignore[attr-defined]


def screen_at(kind, number, width, live=None):
    return text_of(render(view(until(kind, number), live or {}), 0.0), width).splitlines()


@pytest.mark.parametrize("width", [80, 120])
def test_every_line_fits_and_each_candidate_takes_one(width):
    for kind, number in (("designed", 2), ("reviewed", 5), ("trained", 5), ("trained", 13), ("finals-started", 1)):
        lines = screen_at(kind, number, width)
        assert max(map(len, lines)) <= width
        ids = [match.group() for line in lines if (match := re.search(r"(?<=^[ ★] )(\S+-k\d|human|sparse)", line))]
        assert len(ids) == len(set(ids)) == (3 if kind == "finals-started" else 7 if number < 10 else 5)


def test_the_header_tells_task_model_generation_time_cost_and_tokens():
    head = " ".join(screen_at("trained", 3, 100)[:2])
    for part in ("hopper", "openai/gpt-5.1", "generation g00 (1 of at most 2)", "37 s", "min left", "$0.074 of $2.00"):
        assert part in head
    assert "13.9k tokens (1.2k estimated), 5 calls" in head


def test_a_past_generation_is_one_line():
    lines = screen_at("trained", 13, 80)
    past = [line for line in lines if line.startswith("g00")]
    assert "the task's own rewards: human 1806 ± 16, sparse 418 ± 16" in lines
    assert past == ["g00: 2 trained, 2 rejected, 1 failed; best so far g00-k2, fitness 1015 ± 28"]


def test_failures_use_the_width_for_their_reason():
    (line,) = [line for line in screen_at("trained", 6, 80) if "g00-k3" in line]
    assert "component `upright` is nan (non-finite at step" in line


def test_no_color_is_honoured(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    console.print(render(view(until("trained", 6), {}), 0.0))
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", console.file.getvalue())  # type: ignore[attr-defined]


def test_plain_lines_tell_the_whole_story_without_control_codes():
    console = Console(file=io.StringIO(), width=80, markup=False, highlight=False)
    listener, history = Plain(console), History()
    for event in events():
        history.apply(event)
        listener.event(event, history)
    listener.note("retrying in 4 s: [429] rate limit")
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert lines[0] == f"[00:12] run {RUN_ID}: hopper, openai/gpt-5.1, up to 2 generations of 5 candidates"
    assert any(line.endswith("g00-k2 rejected: language: `import os` is not allowed (line 1)") for line in lines)
    trained = next(
        number for number, line in enumerate(lines) if line.endswith("g00-k2 trained: fitness 1015 ± 28, success 55 %")
    )
    assert lines[trained + 1].endswith("g00-k2 is the best so far")
    assert any(line.endswith("g00-k3 failed: component `upright` is nan (non-finite at step 81920)") for line in lines)
    assert lines[-1] == "retrying in 4 s: [429] rate limit"
    assert not any("\x1b" in line for line in lines)


def test_plain_progress_is_a_heartbeat_and_not_a_flood(monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    console = Console(file=io.StringIO(), width=80)
    listener, history = Plain(console), History()
    for event in events()[:17]:
        history.apply(event)
        listener.event(event, history)
    before = len(console.file.getvalue().splitlines())  # type: ignore[attr-defined]
    for step in range(1, 61):
        clock[0] += 1.0
        message = {"phase": "search", "candidate_id": "g00-k1", "seed": 0, "env_steps": 5000 * step, "fitness": 3.0}
        listener.progress(message | {"success_rate": 0.0})
    added = console.file.getvalue().splitlines()[before:]  # type: ignore[attr-defined]
    assert len(added) == 2
    assert "g00-k1 leads with fitness 3.00" in added[0]


def test_the_screen_survives_events_and_progress_from_several_threads():
    import threading

    console = Console(file=io.StringIO(), force_terminal=True, width=80, height=24)
    history = History()
    with Screen(console) as screen:

        def report():
            for step in range(300):
                message = {"phase": "search", "candidate_id": "g00-k1", "seed": 0, "env_steps": step}
                screen.progress(message | {"fitness": 1.0, "success_rate": 0.0})

        threads = [threading.Thread(target=report) for _ in range(3)]
        for thread in threads:
            thread.start()
        for event in events():
            history.apply(event)
            screen.event(event, history)
        for thread in threads:
            thread.join()
    assert "g01: 5 trained" in console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
def test_the_live_screen_redraws_in_place_on_a_real_terminal(tmp_path):
    name = f"rewardgen-{tmp_path.name}-{time.time_ns()}"
    command = f"{sys.executable} -m tests.ui.replay; sleep 30"
    tmux = ["tmux", "-S", str(tmp_path / "socket")]
    subprocess.run([*tmux, "new-session", "-d", "-s", name, "-x", "80", "-y", "24", command], check=True)
    try:
        during = _wait_for(tmux, name, "training  40 %")
        subprocess.run([*tmux, "send-keys", "-t", name, "-l", "echoed"], check=True)  # as `^C` is, at the cursor
        after = _wait_for(tmux, name, "the end")
    finally:
        subprocess.run([*tmux, "kill-server"], check=True)
    assert len([line for line in during if line.startswith("hopper ·")]) == 1
    assert len([line for line in during if "g00-k2" in line]) == 1
    assert [line for line in after if "· finished" in line]
    assert len([line for line in after if line.startswith("hopper ·")]) == 1


def _wait_for(tmux, name, text):
    for _ in range(150):
        pane = subprocess.run([*tmux, "capture-pane", "-p", "-t", name], capture_output=True, text=True).stdout
        if text in pane:
            return pane.splitlines()
        time.sleep(0.1)
    raise AssertionError(f"`{text}` did not appear in\n{pane}")
