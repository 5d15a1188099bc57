import io
import re
import shutil
import subprocess
import sys
import time

import pytest
from rich.console import Console, ConsoleDimensions

from rewardgen.llm.mailbox import open_requests
from rewardgen.store.history import History
from rewardgen.store.progress import LiveProgress
from rewardgen.ui.plain import Plain
from rewardgen.ui.screen import Screen, render
from rewardgen.ui.show import candidate_page
from rewardgen.view.progress import view
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
        assert len(ids) == len(set(ids)) == (3 if kind == "finals-started" else 7)


def test_the_screen_has_a_header_a_line_per_past_generation_and_the_reason_of_a_failure():
    head = " ".join(screen_at("trained", 3, 100)[:3])
    parts = ("hopper", "openai/gpt-5.1", "generation g00 (1 of at most 2): training", "37 s", "min left")
    assert all(part in head for part in (*parts, "$0.074 of $2.00", "13.9k tokens (1.2k estimated), 5 calls"))
    lines = screen_at("trained", 13, 80)
    past = [line for line in lines if line.startswith("g00")]
    assert [line.split()[:2] for line in lines if "baseline" in line] == [["human", "baseline"], ["sparse", "baseline"]]
    assert past == ["g00: 2 trained, 2 rejected, 1 failed; best so far g00-k2, fitness 1015 ± 28"]
    (line,) = [line for line in screen_at("trained", 6, 80) if "g00-k3" in line]
    assert "component `upright` is nan (non-finite at step" in line


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
    assert "g00-k1 leads with fitness 3" in added[0]


@pytest.mark.parametrize("height", [6, 10, 14, 24])
@pytest.mark.parametrize(("kind", "number"), [("reviewed", 5), ("trained", 5), ("trained", 13), ("finals-started", 1)])
def test_a_low_terminal_shows_what_it_can_and_says_how_much_it_does_not(kind, number, height):
    shown = view(until(kind, number), {})
    lines = text_of(render(shown, 0.0, "a note", size=ConsoleDimensions(80, height)), 80).splitlines()
    assert len(lines) <= max(height, 9)
    rows = [line for line in lines if re.match(r"[ ★] (g0|human|sparse)", line)]
    left_out = [int(found[1]) for line in lines if (found := re.match(r"  and (\d+) more", line))]
    assert len(rows) + sum(left_out) == len(shown.rows)


def test_a_stage_without_room_beside_the_task_has_a_line_of_its_own():
    shown = view(until("trained", 3), {})._replace(task="slower_than_a_quarter_metre_per_second_on_one_leg")
    lines = text_of(render(shown, 0.0, size=ConsoleDimensions(80, 24)), 80).splitlines()
    assert lines[:2] == [shown.task, shown.stage]


def test_the_course_of_the_fitness_is_drawn_on_one_scale_and_ahead_of_it_are_dots():
    def message(id, steps, fitness):
        return {"phase": "search", "candidate_id": id, "seed": 0, "env_steps": steps, "fitness": fitness}

    live = LiveProgress()
    for part in range(1, 5):
        live.progress(message("g00-k1", 37_500 * part, 250.0 * part) | {"success_rate": 0.0})
        live.progress(message("g00-k2", 37_500 * part, 1.0) | {"success_rate": 0.0})
    lines = text_of(render(view(until("reviewed", 7), live.messages), 0.0), 80).splitlines()
    rise, flat = (line.split()[-1] for line in lines if "training  25 %" in line)
    assert re.fullmatch("[▁-█]+█·+", rise) and re.fullmatch("▁+·+", flat) and len(rise) == len(flat) == 19
    assert rise.count("·") == flat.count("·") == pytest.approx(len(rise) / 2, abs=1)


def test_a_fitness_of_a_known_range_is_drawn_in_that_range():
    history = until("trained", 2)
    history.card = history.card.model_copy(update={"best_fitness": 1.0})  # type: ignore[union-attr]
    live = LiveProgress()
    for steps in (60_000, 150_000, 300_000):
        for id, fitness in (("g00-k1", 0.02), ("g00-k2", 0.5)):
            message = {"phase": "search", "candidate_id": id, "seed": 1, "env_steps": steps, "success_rate": 0.0}
            live.progress(message | {"fitness": fitness})
    history.trained.clear()
    lines = text_of(render(view(history, live.messages), 0.0), 80).splitlines()
    poor, half = (line.split()[-1] for line in lines if "training  50 %" in line)
    assert (set(poor), set(half)) == ({"▁"}, {"▅"})


def test_an_unreadable_prediction_is_told_on_the_screen_in_plain_lines_and_on_the_page():
    told = [event.model_copy(deep=True) for event in events()[:3]]
    told[-1].data["candidate"]["prediction"] = "It will hop."
    history = History(told)
    terminal, pipe = (Console(file=io.StringIO(), width=80, force_terminal=on) for on in (True, False))
    line = "g00-k1: prediction unreadable: no claim such as `fitness >= 0.5`"
    with Screen(terminal) as screen:
        screen.event(told[-1], history)
        assert line in text_of(screen._render(), 80)
    Plain(pipe).event(told[-1], history)
    assert line in pipe.file.getvalue().splitlines()  # type: ignore[attr-defined]
    record = history.record("g00-k1")
    assert record and "It will hop.\n  unreadable: no claim" in text_of(candidate_page(history, record), 80)


def mailbox_view(tmp_path, kind, number, live=None):
    told = [event.model_copy(deep=True) for event in events()]
    told[0].data["config"] |= {"model": f"mailbox:{tmp_path / 'inbox'}"}
    until_then = History(told[: [n for n, each in enumerate(told) if each.kind == kind][number - 1] + 1])
    return view(until_then, live or {}, 7200.0)


def test_while_a_person_compares_films_the_time_left_is_that_of_training():
    told = [event.model_copy(deep=True) for event in events()]
    ends = [n for n, each in enumerate(told) if each.kind == "generation-started"]
    assert view(History(told[: ends[1] + 1]), {}).left().endswith("left, then films")
    told[0].data["config"] |= {"judge": "human:8700"}
    assert view(History(told[: ends[1] + 1]), {}).left().endswith("of training")


def test_a_mailbox_tells_how_many_requests_wait_and_no_time_but_that_of_training(tmp_path):
    shown = mailbox_view(tmp_path, "generation-started", 2)
    inbox = tmp_path / "inbox"
    assert open_requests(inbox) == 0 and shown.mailbox == inbox
    inbox.mkdir()
    for name in ("a.request.md", "b.request.md", "c.reply.md"):
        (inbox / name).touch()
    (head, bar, wait, *_) = text_of(render(shown, 3600.0, waiting=open_requests(inbox)), 160).splitlines()
    assert head.endswith("designing, 0 of 5 done") and wait == f"2 requests wait in {inbox}/"
    assert re.search(r"3 h 01 min, then about 2 min of training", bar)
    assert f"no request waits in {inbox}/" in text_of(render(shown, 0.0), 160)


@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
def test_the_live_screen_redraws_in_place_on_a_real_terminal_that_changes_its_size(tmp_path):
    tmux = ["tmux", "-S", str(tmp_path / "socket")]
    command = f"{sys.executable} -m tests.ui.replay; sleep 30"
    subprocess.run([*tmux, "new-session", "-d", "-s", "a", "-x", "160", "-y", "50", command], check=True)
    try:
        wait_for(tmux, "a", "training  20 %")
        subprocess.run([*tmux, "resize-window", "-t", "a", "-x", "80", "-y", "24"], check=True)
        during = wait_for(tmux, "a", "training  40 %")
        subprocess.run([*tmux, "send-keys", "-t", "a", "-l", "echoed"], check=True)  # as `^C` is, at the cursor
        after = wait_for(tmux, "a", "the end")
    finally:
        subprocess.run([*tmux, "kill-server"], check=True)
    assert max(map(len, during)) <= 80 and during[0].startswith("hopper · generation g00")
    for lines in (during, after):
        assert len([line for line in lines if line.startswith("hopper ·")]) == 1
    assert len([line for line in during if "g00-k2" in line]) == 1
    assert [line for line in after if "· finished" in line]


def wait_for(tmux, name, pattern, seconds=45):
    """The lines of a terminal as soon as they hold a pattern."""
    for _ in range(10 * seconds):
        pane = subprocess.run([*tmux, "capture-pane", "-p", "-t", name], capture_output=True, text=True).stdout
        if re.search(pattern, pane):
            return pane.splitlines()
        time.sleep(0.1)
    raise AssertionError(f"`{pattern}` did not appear in\n{pane}")
