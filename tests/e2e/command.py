"""Running the real command line on a task that trains in seconds."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from rewardgen.cli.app import main
from rewardgen.store.events import read_events
from rewardgen.store.history import History
from rewardgen.store.run_folder import RunFolder, find_run
from tests.cli.test_sandbox_off import read

POINT = Path(__file__).parent.parent / "tasks" / "point.py"
SMALL = ["--no-films", "--candidates", "2", "--seeds", "1", "--leaders", "1"]
SHORT = [*SMALL, "--generations", "2", "--final-seeds", "2", "--env-steps", "4096"]
SHORTER = [*SMALL, "--generations", "1", "--final-seeds", "1", "--workers", "1", "--env-steps", "1024"]
FEW = {"candidates": 2, "generations": 2, "seeds": 1, "leaders": 1, "final_seeds": 1, "env_steps": 1024, "workers": 1}
REWARDGEN = [sys.executable, "-m", "rewardgen"]


def rewardgen(*arguments, cwd, **environment):
    """Run a command to its end in this process, whose workers and libraries are warm; what a process would return."""
    with io.StringIO() as out, io.StringIO() as err:
        code = _run(arguments, cwd, environment, stdout=out, stderr=err)
        return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


def on_a_terminal(*arguments, cwd, typed, within_s=120.0, **environment):
    """Exit code of a command, run in this process on a terminal where something was typed ahead, and what it showed."""
    ours, theirs = pty.openpty()
    shown = []

    def look():
        shown.extend(iter(lambda: read(ours, within_s), b""))
        os.close(ours)  # whatever still waits for an answer gets none

    os.write(ours, typed.encode())
    looking = threading.Thread(target=look)
    looking.start()
    with open(theirs, "w") as screen, open(theirs, closefd=False) as keys:
        code = _run(arguments, cwd, environment, stdin=keys, stdout=screen, stderr=screen)
    looking.join()
    return code, " ".join(b"".join(shown).decode(errors="replace").split())


def _run(arguments, cwd, environment, **streams):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(cwd)
        for name, value in environment.items():
            patch.setenv(name, value)
        for name, stream in streams.items():
            patch.setattr(sys, name, stream)
        return main([*map(str, arguments)])


def process(*arguments, cwd, timeout=240, **environment):
    """Run a command to its end in a process of its own; standard output and error as text."""
    return subprocess.run(
        [*REWARDGEN, *map(str, arguments)],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def start(*arguments, cwd, **environment):
    """Start a command in a session of its own, so that it can be interrupted like one in a terminal."""
    return subprocess.Popen(
        [*REWARDGEN, *map(str, arguments)],
        cwd=cwd,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def run_folder(cwd) -> RunFolder:
    return find_run("latest", Path(cwd) / "runs")


def history(cwd) -> History:
    return History.load(run_folder(cwd))


def wait_for_event(cwd, kind, count=1, timeout=120):
    """Wait until the newest run has recorded so many events of a kind."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        logs = sorted((Path(cwd) / "runs").glob("*/events.jsonl"))
        if logs and sum(event.kind == kind for event in read_events(logs[-1])) >= count:
            return
        time.sleep(0.05)
    raise AssertionError(f"no {count} events `{kind}` within {timeout} s")


def workers_of(folder: RunFolder) -> list[int]:
    """Worker processes whose own folder lies in a run's."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            place, command = (process / "cwd").readlink(), (process / "cmdline").read_bytes()
        except OSError:
            continue
        if b"rewardgen.sandbox" in command and place.is_relative_to(folder.path.resolve()):
            found.append(int(process.name))
    return found


def table(found: History):
    """The closing table as plain data."""
    assert found.summary is not None
    return json.loads(found.summary.model_dump_json())
