"""The shortest real run: started, interrupted, resumed, read."""

import json
import signal

import pytest

TINY = ("--generations", 1, "--candidates", 2, "--seeds", 1, "--finalists", 1, "--final-seeds", 1, "--env-steps", 4096)


@pytest.mark.slow
def test_a_run_is_interrupted_resumed_and_read(rewardgen, start_rewardgen):
    process = start_rewardgen("run", "cartpole", *TINY)
    for line in process.stderr:
        if "g00" in line and "draft" in line:
            break
    process.send_signal(signal.SIGINT)
    out, rest = process.communicate(timeout=120)
    assert process.returncode == 130
    assert out == ""
    (resume,) = [line for line in rest.splitlines() if line.startswith("next: ")]
    arguments = resume.removeprefix("next: rewardgen ").split()[:2]
    assert arguments[0] == "resume"
    assert "Traceback" not in rest

    done = rewardgen(*arguments, "--json")
    result = json.loads(done.stdout)
    assert done.returncode == 0
    assert result["run_id"] == arguments[1]
    assert {row["candidate_id"] for row in result["summary"]["rows"]} >= {"human", "sparse"}
    assert rewardgen("runs", "show", "latest", result["summary"]["chosen"]).returncode == 0
    assert rewardgen("check", "cartpole", result["reward"]).returncode == 0
