"""`runs watch` follows a run of another process, to its end or to where it was interrupted."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest

from tests.cli.conftest import write_run
from tests.e2e.command import POINT, SHORTER, history, rewardgen, run_folder, start, wait_for_event
from tests.ui.story import RUN_ID, events
from tests.ui.test_screen import wait_for


def wait_until(true, timeout=120):
    deadline = time.monotonic() + timeout
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
def test_a_run_is_watched_from_another_terminal_until_it_ends(tmp_path):
    running = start("run", POINT, *SHORTER[:-1], "12000", cwd=tmp_path)
    tmux = ["tmux", "-S", str(tmp_path / "socket")]
    try:
        wait_for_event(tmp_path, "designed")
        wait_until(lambda: (file := run_folder(tmp_path).progress).exists() and '"training":{' in file.read_text())
        os.kill(running.pid, signal.SIGSTOP)  # the run must not end before the other terminal has looked
        command = f"{sys.executable} -m rewardgen runs watch; sleep 30"
        size = ["-x", "80", "-y", "24"]
        subprocess.run([*tmux, "new-session", "-d", "-s", "a", *size, command], check=True, cwd=tmp_path)
        try:
            during = wait_for(tmux, "a", r"training +[1-9]\d? %", seconds=60)
            assert run_folder(tmp_path).progress.exists()
            os.kill(running.pid, signal.SIGCONT)
            after = wait_for(tmux, "a", r"reward: ", seconds=120)
        finally:
            subprocess.run([*tmux, "kill-server"], check=True)
    finally:
        os.kill(running.pid, signal.SIGCONT)
        running.communicate()
    assert [line for line in during if "g00-k0" in line] and [line for line in during if re.search("[━─]{10}", line)]
    assert max(map(len, during)) <= 80
    assert [line for line in after if "The search stopped" in line]
    assert not run_folder(tmp_path).progress.exists()


def test_a_finished_run_shows_its_closing_table_at_once(tmp_path):
    write_run(tmp_path / "runs")
    done = rewardgen("runs", "watch", cwd=tmp_path)
    assert done.returncode == 0 and "It does not beat the human reward" in " ".join(done.stdout.split())


def test_a_run_that_was_killed_is_not_waited_for(tmp_path):
    write_run(tmp_path / "runs", events()[:12])
    done = rewardgen("runs", "watch", cwd=tmp_path)
    assert done.returncode == 1
    assert "no process works on it" in done.stderr and f"rewardgen resume {RUN_ID}" in done.stderr


@pytest.mark.parametrize("named", [["runs"], ["latest"]])
def test_runs_are_served_at_the_printed_link_until_they_are_not(tmp_path, named):
    write_run(tmp_path / "runs")
    serving = start("serve", *named, cwd=tmp_path)
    assert serving.stdout
    link = serving.stdout.readline().strip()
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with opener.open(link, timeout=10) as page:  # it gives the cookie, and leads on to the page without the token
        (on,) = re.findall(r"url=([^\"]+)", page.read().decode())
    with opener.open(urllib.parse.urljoin(link, on), timeout=10) as page:
        assert RUN_ID in page.read().decode()
        assert page.url.endswith(f"/runs/{RUN_ID}/") == (named == ["latest"])
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(link.partition("?")[0], timeout=10)
    os.killpg(serving.pid, signal.SIGINT)
    _, said = serving.communicate(timeout=20)
    assert serving.returncode == 0 and "Traceback" not in said


def test_a_watcher_that_is_ended_leaves_the_run_alone(tmp_path):
    folder = write_run(tmp_path / "runs", events()[:12])
    holding = (
        "import fcntl, sys; file = open(sys.argv[1], 'a'); fcntl.flock(file, 2); print('held', flush=True); input()"
    )
    command = [sys.executable, "-c", holding, str(folder / ".lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout and holder.stdout.readline()
        watching = start("runs", "watch", cwd=tmp_path)
        assert watching.stderr and "Ctrl-C" in watching.stderr.readline()
        os.killpg(watching.pid, signal.SIGINT)
        _, said = watching.communicate(timeout=20)
        holder.communicate("\n")
    assert watching.returncode == 130 and "the run goes on" in said
    assert history(tmp_path).status == "running"
