"""A suite whose process is killed ends as if it had not been."""

import json
import os
import signal
import time

import pytest

from rewardgen.store.events import read_events
from rewardgen.store.run_folder import list_runs
from tests.cli.test_suite import TWO, logs
from tests.e2e.command import rewardgen, start


def told(place):
    """The table without wall clocks and the names of runs."""
    table = json.loads((place / "suite" / "table.json").read_text())
    for each in (*table["rows"], *table["runs"]):
        each["costs"].pop("minutes", None), each.pop("run_id", None)
    return table


def wait_for(place, runs, kind, timeout=120):
    """Wait until there are so many runs, the last with an event of a kind."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        found = list_runs(place / "suite")
        if len(found) >= runs and any(event.kind == kind for event in read_events(found[-1].events)):
            return
        time.sleep(0.02)
    raise AssertionError(f"no event `{kind}` in run {runs} within {timeout} s")


@pytest.mark.slow
def test_a_suite_that_is_killed_twice_ends_with_the_same_table_and_repeats_nothing(tmp_path):
    places = tmp_path / "killed", tmp_path / "whole"
    for place in places:
        place.mkdir()
        (place / "suite.toml").write_text(TWO.replace("[run]", "seeds = [0, 1]\n[run]"))
    killed, whole = places
    for runs, kind in ((1, "trained"), (3, "finals-started")):
        running = start("suite", "suite.toml", "--yes", cwd=killed)
        wait_for(killed, runs, kind)
        os.killpg(running.pid, signal.SIGKILL)
        running.communicate(timeout=60)
    *finished, _ = logs(killed).items()
    for place in places:
        done = rewardgen("suite", "suite.toml", "--yes", cwd=place)
        assert done.returncode == 0, done.stderr
    assert told(killed) == told(whole)
    assert len(finished) == 2 and set(finished) < set(logs(killed).items())
    assert len(logs(killed)) == len(logs(whole)) == 4
