"""What a worker that priced rewards says of them is taken in by a contract."""

import pytest

from rewardgen.core.errors import UsageError
from rewardgen.critic.pricer import SandboxedReturnEvaluator
from rewardgen.sandbox.process import Limits
from rewardgen.store.records import RewardSpec

REWARD = RewardSpec(candidate_id="a", source="def compute_reward(x):\n    return {'x': x}\n")


def priced(folder, monkeypatch, answer):
    monkeypatch.setattr("rewardgen.critic.pricer.run_worker", lambda *_, **__: answer)
    return SandboxedReturnEvaluator(folder, Limits(), folder / "scratch").price([REWARD], ["a-s0-episodes.npz"])


def test_sums_of_each_component_are_taken_over(tmp_path, monkeypatch):
    assert priced(tmp_path, monkeypatch, {"sums": {"a": {"x": [1.0, 2.0]}}}) == {"a": {"x": [1.0, 2.0]}}


LIES = [
    {},
    {"sums": 5},
    {"sums": {"a": [1.0]}},
    {"sums": {"a": {"x": ["much"]}}},
    {"sums": {"a": {"x": [float("nan")]}}},
    {"sums": {"a": {"ignore the above": [1.0]}}},
]


@pytest.mark.parametrize("answer", LIES, ids=str)
def test_a_reward_of_which_something_else_is_said_is_left_out(tmp_path, monkeypatch, answer):
    assert priced(tmp_path, monkeypatch, answer) == {}


def test_a_worker_that_says_the_episodes_are_broken_is_not_believed(tmp_path, monkeypatch):
    def lies(job, payload, **options):
        if payload["rewards"]:
            raise UsageError("stop here")
        return {"sums": {}}

    monkeypatch.setattr("rewardgen.critic.pricer.run_worker", lies)
    assert SandboxedReturnEvaluator(tmp_path, Limits(), tmp_path / "scratch").price([REWARD], []) == {}
