"""A task as a Gymnasium environment: what the checkers ask of one, and the same episodes as everywhere else."""

import warnings

import numpy as np
import pytest
import torch
from gymnasium.error import InvalidAction
from gymnasium.spaces import Discrete
from gymnasium.utils.env_checker import check_env
from stable_baselines3.common.env_checker import check_env as check_env_of_sb3

from rewardgen.reward.program import compile_reward
from rewardgen.sim.episodes import record_episodes
from rewardgen.tasks.fitness import measure_episodes
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.members import baseline_sources
from rewardgen.tasks.task_env import TaskEnv


def human_env(name):
    task = load_task(name)
    return TaskEnv(task, compile_reward(baseline_sources(task)["human"]))


def test_it_passes_the_checks_of_gymnasium_and_stable_baselines():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_env(human_env("hopper"), skip_render_check=True)
        check_env_of_sb3(human_env("cartpole"))


@pytest.mark.parametrize("name", ["cartpole", "hopper"])
def test_its_episodes_are_those_of_the_task_with_the_rewards_of_a_training(name):
    env, task = human_env(name), load_task(name)
    size = len(env.action_space.low)
    recorded = record_episodes(task.make_envs([7], 1), lambda o: torch.tanh(o[:, :1]).expand(-1, size), anew=True)
    program = compile_reward(baseline_sources(task)["human"])
    inputs = {name: value[:, 0] for name, value in recorded.inputs.items()}
    expected = program(inputs).total
    observation, _ = env.reset(seed=7)
    for step in range(int(recorded.episode.lengths)):
        action = torch.tanh(torch.from_numpy(observation[:1])).expand(size).numpy()
        observation, reward, terminated, truncated, info = env.step(action)
        assert reward == pytest.approx(float(expected[step]), rel=1e-6, abs=1e-6)
    assert terminated or truncated
    found = measure_episodes(task, recorded.episode)
    assert info["fitness"] == float(found.fitness) and info["success"] == bool(found.success)
    assert info["cause"] == recorded.endings[0]


def test_choices_are_discrete_actions_and_may_be_one_hot():
    env = TaskEnv(load_task("CartPole-v1"), lambda inputs: {"push": inputs["action"][:, 1]})
    assert env.action_space == Discrete(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_env(env, skip_render_check=True)
        check_env_of_sb3(env)
    ways = {}
    for action in (1, np.int64(1), np.array([0.0, 1.0], np.float32), 0):
        env.reset(seed=3)
        observation, reward, *_ = env.step(action)
        ways[repr(action)] = (*observation.tolist(), reward)
    *same, other = ways.values()
    assert len({*same}) == 1 and other not in same and same[0][-1] == 1.0
    with pytest.raises(InvalidAction, match=r"Discrete\(2\) is required; this one is 2"):
        env.step(2)


def test_a_task_without_success_tells_none():
    env = human_env("Pendulum-v1")
    env.reset(seed=0)
    ended = False
    while not ended:
        *_, ended, info = env.step(env.action_space.sample())
    assert "fitness" in info and not {"success", "is_success"} & info.keys()


def test_episodes_go_on_where_the_last_one_ended_and_begin_anew_with_the_seed():
    env = human_env("hopper")
    starts = []
    for seed in (3, None, 3, None):
        starts.append(env.reset(seed=seed)[0].tolist())
        while not any(env.step(env.action_space.low)[2:4]):
            pass
    assert starts[0] == starts[2] != starts[1] == starts[3]
