"""A task as a Gymnasium environment."""

import numpy as np
import pytest
from gymnasium.error import InvalidAction, ResetNeeded

import rewardgen
from rewardgen.core.errors import UsageError
from rewardgen.reward.contract import RewardError
from rewardgen.training.shared import rewards
from tests.e2e.command import POINT

MINE = "def compute_reward(position, prev_position):\n    return {'gain': prev_position.abs() - position.abs()}\n"


def episode(env, act, **options):
    """Every step's observation, reward and information of one episode."""
    observation, _ = env.reset(**options)
    steps, over = [], False
    while not over:
        observation, reward, terminated, truncated, info = env.step(act(observation))
        over = terminated or truncated
        steps.append((observation, reward, info))
    return steps


def test_the_reward_is_the_sum_of_the_components_of_the_one_that_was_given():
    env = rewardgen.make_env(POINT, reward=MINE)
    steps = episode(env, lambda observation: np.ones(1, np.float32), seed=0)
    positions = [info["variables"]["position"] for *_, info in steps]
    gains = np.abs(positions[:-1]) - np.abs(positions[1:])
    assert np.allclose([reward for _, reward, _ in steps[1:]], gains, atol=1e-6)
    assert steps[0][1] == 0.0
    assert all(reward == sum(info["components"].values()) for _, reward, info in steps)
    assert [("fitness" in info, "success" in info) for *_, info in steps[-2:]] == [(False, False), (True, True)]


def test_a_step_without_an_episode_is_refused():
    env = rewardgen.make_env(POINT)
    with pytest.raises(ResetNeeded):
        env.step(np.ones(1, np.float32))
    episode(env, lambda observation: np.ones(1, np.float32), seed=0)
    with pytest.raises(ResetNeeded):
        env.step(np.ones(1, np.float32))


@pytest.mark.parametrize(
    ("action", "told"), [([np.nan], "not finite"), ([0.0, 0.0], "has shape \\(2,\\)"), (0.0, "has shape \\(\\)")]
)
def test_an_action_that_the_space_cannot_hold_is_refused(action, told):
    env = rewardgen.make_env(POINT)
    env.reset(seed=0)
    with pytest.raises(InvalidAction, match=told):
        env.step(np.array(action, np.float32))


@pytest.mark.parametrize(
    ("reward", "told"),
    [("no_such_file.py", "cannot read"), (MINE.replace("position", "postion"), "which the task lacks")],
)
def test_a_reward_that_cannot_be_paid_is_refused_at_once(reward, told):
    with pytest.raises(UsageError, match=told):
        rewardgen.make_env(POINT, reward=reward)


def test_a_call_of_a_reward_that_takes_too_long_is_ended(monkeypatch):
    monkeypatch.setattr(rewards, "CALL_LIMIT_S", 0.05)
    source = "def compute_reward(a):\n    for _ in range(90):\n        a = a.sin()\n    return {'a': a}\n"
    with pytest.raises(RewardError, match=r"more than 0\.05 s of processor time"):
        rewardgen.Reward(source)(a=np.ones(2_000_000))
    assert rewardgen.Reward(source)(a=0.0)["a"].tolist() == [0.0]


def test_a_task_without_a_reward_asks_for_one(tmp_path):
    text = (
        POINT.read_text().split("    @staticmethod")[0].replace('"point.xml"', repr(str(POINT.with_name("point.xml"))))
    )
    (tmp_path / "bare.py").write_text(text)
    with pytest.raises(UsageError, match="no human reward"):
        rewardgen.make_env(tmp_path / "bare.py")
    env = rewardgen.make_env(tmp_path / "bare.py", reward=MINE)
    env.reset(seed=0)
    assert env.step(np.zeros(1))[1] == 0.0


def test_check_says_what_the_critic_finds(tmp_path):
    (tmp_path / "mine.py").write_text("def compute_reward(postion):\n    return {'p': postion}\n")
    verdict = rewardgen.check(POINT, tmp_path / "mine.py")
    assert not verdict.accepted
    assert "position" in verdict.findings[0].hint
    assert rewardgen.check(POINT, MINE).accepted


def test_an_environment_of_gymnasium_pays_its_own_reward_unless_another_is_given(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    env = rewardgen.make_env("Pendulum-v1")
    env.reset(seed=0)
    *_, info = step = env.step(env.action_space.sample())
    assert step[1] == info["components"]["env_reward"] < 0
    with pytest.raises(UsageError, match="env_reward"):
        rewardgen.make_env(
            "Pendulum-v1", reward="def compute_reward(env_reward):\n    return {'x': env_reward + 1.0}\n"
        )
