"""The choices on processes of a run are kept: what its workers may do, and which candidates share one."""

import json
import os
import signal

import pytest

from tests.e2e.command import POINT, SHORTER, history, rewardgen, run_folder, start, wait_for_event, workers_of


@pytest.mark.slow
def test_an_isolated_run_without_a_sandbox_says_so_and_stays_so_when_it_is_resumed(tmp_path):
    running = start("run", POINT, *SHORTER, "--isolate", "--sandbox", "off", "--yes", cwd=tmp_path)
    wait_for_event(tmp_path, "trained")
    os.killpg(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert "sandbox without landlock: switched off" in said
    known = json.loads(run_folder(tmp_path).provenance.read_text())
    assert known["sandbox"]["mode"] == "off" and "--sandbox off --yes" in known["command"]

    done = rewardgen("resume", "latest", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "the sandbox is off, as in the run so far" in done.stderr
    found = history(tmp_path)
    assert found.config.isolate and found.config.sandbox == "off" and found.status == "finished"
    assert workers_of(run_folder(tmp_path)) == []
    assert not run_folder(tmp_path).scratch.exists()
