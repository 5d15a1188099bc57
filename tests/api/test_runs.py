"""Runs from Python: searching, opening, looking at candidates."""

import asyncio
import pickle
import signal
import sys
import threading
import time

import numpy as np
import pytest
import torch

import rewardgen
import rewardgen.search.lifecycle
from rewardgen.api.reward import reward_source
from rewardgen.core.asynchrony import run_coroutine
from rewardgen.core.errors import UsageError
from rewardgen.reward.contract import RewardError
from rewardgen.store.records import BASELINES
from tests.api.conftest import SHORTEST
from tests.cli.conftest import write_run
from tests.e2e.command import POINT


def test_a_search_in_a_running_event_loop_comes_to_its_end(run):
    assert run.status == "finished"
    assert run.task == str(POINT)
    assert (run.path / "events.jsonl").is_file()
    assert run.best is not None and run.best.id == run.summary.chosen


def test_a_run_is_opened_as_it_was_returned(run):
    again = rewardgen.open_run("latest", run.path.parent)
    assert again.rows() == run.rows()
    assert rewardgen.open_run(run.path).summary == run.summary


def test_a_candidates_numbers_are_those_of_the_closing_table(run):
    row = next(each for each in run.summary.rows if each.candidate_id == run.best.id)
    assert run.best.phase == "final"
    assert run.best.fitness == row.fitness
    assert run.best.success == row.success_interval


def test_a_reward_gives_its_components_for_tensors_arrays_and_numbers(run):
    reward = run["human"].reward
    asked = {"position": [0.0, 1.0], "velocity": [0.0, 2.0], "action": [[0.0], [1.0]]}
    components = reward({name: torch.tensor(value) for name, value in asked.items()})
    assert {name: each.tolist() for name, each in components.items()} == {
        "near": pytest.approx([1.0, np.exp(-4.0)]),
        "slow": pytest.approx([0.0, -0.2]),
        "effort": pytest.approx([0.0, -0.01]),
    }
    assert reward(position=0.0, velocity=np.float64(2.0), action=np.ones((1, 1)))["slow"].tolist() == [
        pytest.approx(-0.2)
    ]
    assert reward(asked, effort_weight=1.0)["effort"].tolist() == [0.0, -1.0]


def test_a_reward_that_was_called_can_be_pickled(run):
    assert run.best.reward.inputs
    copy = pickle.loads(pickle.dumps(run.best.reward))
    assert copy.inputs == run.best.reward.inputs and copy.source == run.best.source


def test_a_reward_says_which_input_it_lacks(run):
    with pytest.raises(UsageError, match="lacks its input `velocity`") as caught:
        run["human"].reward(position=0.0, velocty=0.0, action=[[0.0]])
    assert caught.value.hint == "the reward reads `position`, `velocity`, `action`"
    with pytest.raises(UsageError, match="no constant `effort_wieght`") as caught:
        run["human"].reward(position=0.0, velocity=0.0, action=[[0.0]], effort_wieght=5.0)
    assert "effort_weight" in caught.value.hint


def test_an_action_without_its_axis_is_of_one_actuator_or_of_one_env(run):
    reward = run["human"].reward
    of_envs = {"position": [0.0, 1.0], "velocity": [0.0, 2.0]}
    bare, whole = (reward(of_envs, action=action)["effort"].tolist() for action in ([0.0, 1.0], [[0.0], [1.0]]))
    assert bare == whole
    assert reward(position=0.0, velocity=2.0, action=[1.0])["effort"].shape == (1,)
    with pytest.raises(UsageError, match="differ in the number of envs: `position` of 2, `velocity` of 3"):
        reward(position=[0.0, 1.0], velocity=[0.0, 1.0, 2.0], action=[[0.0], [1.0]])


def test_code_beyond_the_reward_language_is_not_run_in_this_process(tmp_path):
    trace = tmp_path / "trace"
    source = f"open({str(trace)!r}, 'w')\ndef compute_reward(position):\n    return {{'p': position}}\n"
    with pytest.raises(RewardError):
        rewardgen.Reward(source)(position=0.0)
    assert not trace.exists()


def test_a_reward_on_one_line_is_no_path():
    text = "def compute_reward(action): return {'effort': -action.square().sum(-1)}"
    assert reward_source(text) == text


def test_the_policy_of_a_candidate_acts_within_its_range(run):
    policy = run.best.policy
    actions = policy.act(np.array([[0.5, 0.0], [-9.0, 0.0]]))
    assert actions.shape == (2, 1)
    assert np.all(np.abs(actions) <= 1.0)
    assert np.allclose(policy.act([0.5, 0.0]), actions[0], atol=1e-6)
    for shape in ((4,), (4, 1), (2, 4), ()):
        with pytest.raises(UsageError, match="where the policy sees 2 numbers"):
            policy.act(np.zeros(shape))
    assert rewardgen.load_policy(run.path / "best" / "policy.npz").act([0.5, 0.0]).tolist() == actions[0].tolist()


def test_the_table_is_a_data_frame_and_plain_rows_where_pandas_is_missing(run, monkeypatch):
    table = run.table()
    assert list(table.index) == [*run.history.ids(), *BASELINES]
    assert table.loc[run.best.id, "status"] == "chosen"
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert run.table() == run.rows()


def test_a_run_that_has_ended_has_its_report(run):
    assert run.best.id in (run.path / "report.html").read_text()


def test_an_unknown_candidate_is_named_with_the_nearest(run):
    with pytest.raises(UsageError, match="no candidate `g00-k9`") as caught:
        run["g00-k9"]
    assert "g00-k0" in caught.value.hint
    with pytest.raises(UsageError, match="no candidate `0`"):
        run[0]


def test_a_notebook_shows_a_run_with_everything_escaped(tmp_path):
    run = rewardgen.open_run(write_run(tmp_path / "runs"))
    shown = run._repr_html_()
    assert all(each.id in shown for each in run.candidates)
    evil = "<script>alert(1)</script>"
    for id in [*run.history.designed]:
        run.history.designed[id] = run.history.designed[id].model_copy(
            update={"diagnosis": evil, "source": evil, "failure": ""}
        )
    shown = run._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown


@pytest.mark.parametrize(
    ("options", "told"),
    [({"candidate": 3}, "candidate"), ({"candidates": 0}, "candidates"), ({"task": "ponit"}, "ponit")],
)
def test_a_wrong_option_is_told_before_anything_is_made(tmp_path, options, told):
    task = options.pop("task", str(POINT))
    with pytest.raises(UsageError, match=told):
        rewardgen.run(task, runs_dir=tmp_path / "runs", **options)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("judge", "told"), [("signals", "declares no signals"), ("simulated:foo", "no simulated judge")]
)
def test_a_judge_that_the_task_cannot_have_leaves_no_run_that_nothing_can_resume(tmp_path, judge, told):
    with pytest.raises(UsageError, match=told):
        rewardgen.run(POINT, runs_dir=tmp_path, progress=False, judge=judge, **SHORTEST)
    assert not [*tmp_path.iterdir()]


def test_a_run_from_python_says_before_the_search_that_its_first_reward_cannot_be_trained(tmp_path, capfd):
    (tmp_path / "other.py").write_text("def compute_reward(distance):\n    return {'near': -distance}\n")
    rewardgen.run(POINT, runs_dir=tmp_path / "runs", init=str(tmp_path / "other.py"), **SHORTEST)
    said, _, _ = " ".join(capfd.readouterr().err.split()).partition("generation g00")
    assert "other.py cannot be trained on point: the reward takes `distance`" in said
    assert "the search begins all the same" in said and "rewardgen check" in said


def test_every_public_name_is_there():
    assert [name for name in rewardgen.__all__ if not hasattr(rewardgen, name)] == []


def interrupt_later(when):
    """Press Ctrl-C, so to say, as soon as something is so."""

    def wait():
        while not when():
            time.sleep(0.05)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    threading.Thread(target=wait).start()


def test_an_interrupt_in_a_running_loop_ends_the_coroutine_and_is_raised():
    begun, ended = threading.Event(), []

    async def work():
        begun.set()
        try:
            await asyncio.sleep(60.0)
        finally:
            ended.append(True)

    async def cell():
        signal.signal(signal.SIGINT, signal.default_int_handler)  # as the kernel of a notebook has it
        interrupt_later(begun.is_set)
        run_coroutine(work())

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(cell())
    assert ended == [True]
    assert time.monotonic() - began < 10.0


def test_a_search_that_is_interrupted_in_a_running_loop_is_saved_and_goes_on(tmp_path):
    def designed():
        return any('"designed"' in log.read_text() for log in tmp_path.glob("*/events.jsonl"))

    async def cell():
        interrupt_later(designed)
        rewardgen.run(POINT, runs_dir=tmp_path, progress=False, **SHORTEST)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(cell())
    saved = rewardgen.open_run("latest", tmp_path)
    assert saved.status == "interrupted"
    assert saved.summary is None
    assert saved.resume(progress=False).status == "finished"
