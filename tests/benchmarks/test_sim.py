import json
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks.__main__ import main
from benchmarks.contender import contenders
from benchmarks.replay import Recorder, Replay
from benchmarks.sim import SimOptions, bench_sim
from benchmarks.stepping import human_rewards, random_actions
from rewardgen.core.errors import UsageError, WorkerError
from rewardgen.tasks.loading import load_task

POINT = str(Path(__file__).parent.parent / "tasks" / "point.py")


def recorded(name, num_envs=8, steps=130):
    task = load_task(name)
    found = task.make_envs([0], num_envs)
    recorder = Recorder(found)
    found.reset(staggered=True)
    return task, found, recorder.record(random_actions(found, 0, steps))


@pytest.mark.parametrize("name", ["hopper", "cartpole"])
def test_the_c_loop_ends_in_the_very_states_that_our_envs_end_in(name):
    task, envs, recording = recorded(name)
    assert recording.intact.any() and not recording.intact.all(), "episodes end in between"
    assert not np.array_equal(recording.state, recording.end)
    for threads in (1, 2):
        seconds, error = Replay(envs.view.model, task.frame_skip, threads).run(recording)
        assert error == 0.0
        assert seconds > 0.0


def test_a_replay_of_other_physics_is_noticed():
    task, envs, recording = recorded("hopper")
    _, error = Replay(envs.view.model, task.frame_skip + 1).run(recording)
    assert error > 0.0


def test_the_same_segment_has_the_same_actions_and_another_has_others():
    envs = load_task(POINT).make_envs([0], 4)
    first, again, other = (torch.stack(random_actions(envs, segment, 3)) for segment in (0, 0, 1))
    assert torch.equal(first, again) and not torch.equal(first, other)
    assert (first >= envs.action_low).all() and (first <= envs.action_high).all()


@pytest.mark.slow
def test_stepping_is_compared_with_the_c_loop_on_the_same_work_and_json_is_all_there_is_on_stdout(capfd):
    assert main(["sim", POINT, "--num-envs", "8", "--repetitions", "2", "--quick", "--json"]) == 0
    report = json.loads(capfd.readouterr().out)
    assert report["bench"] == "sim" and report["settings"]["num_envs"] == 8
    ours, limit, share = report["figures"]
    assert (ours["name"], limit["name"], share["name"]) == ("ours", "C loop", "ours / C loop")
    assert share["values"] == [a / b for a, b in zip(ours["values"], limit["values"], strict=True)]
    assert len(share["values"]) == 2 and all(0.0 < value < 1.5 for value in share["values"])
    assert not any("other physics" in note for note in report["notes"])


@pytest.mark.slow
def test_stepping_is_compared_with_the_vector_environments_of_a_gymnasium_task():
    report = bench_sim(SimOptions(("hopper",), repetitions=1, seconds=0.02), lambda message: None)
    targets = {figure.name: figure.target for figure in report.figures if figure.unit == "x"}
    assert targets == {
        "ours / C loop": 0.75,
        "ours / Gymnasium": None,
        "all cores / Gymnasium": 3.0,
        "ours / SB3": None,
    }


def test_a_task_without_a_human_reward_cannot_be_stepped_with_one(tmp_path):
    source = Path(POINT).read_text()
    (tmp_path / "bare.py").write_text(source.replace("def human_reward", "def other_reward"))
    (tmp_path / "point.xml").write_text(Path(POINT).with_suffix(".xml").read_text())
    with pytest.raises(UsageError, match="no `human_reward`"):
        human_rewards(load_task(str(tmp_path / "bare.py")))


def test_a_contender_that_dies_is_an_error_that_says_what_it_printed():
    with contenders({"a": "gymnasium"}) as found, pytest.raises(WorkerError, match=r"AttributeError.*nothing"):
        found["a"].ask("nothing")
