"""The tasks of the DeepMind Control Suite against its own environments: same states, same actions, whole episodes."""

import numpy as np
import pytest
import torch

from rewardgen.tasks.loading import load_task
from tests.envs.test_gymnasium_parity import same, total_reward

suite = pytest.importorskip("dm_control.suite")

SUITE = {
    "acrobot_swingup": ("acrobot", "swingup"),
    "ball_in_cup": ("ball_in_cup", "catch"),
    "cheetah_run": ("cheetah", "run"),
    "finger_turn_hard": ("finger", "turn_hard"),
    "hopper_hop": ("hopper", "hop"),
    "humanoid_walk": ("humanoid", "walk"),
    "manipulator_bring_ball": ("manipulator", "bring_ball"),
    "quadruped_run": ("quadruped", "run"),
    "walker_run": ("walker", "run"),
}
QUICK = ("finger_turn_hard",)
"""Of these whole episodes are compared in the test command; of all with the slow tests."""


def flat(observation):
    return np.concatenate([np.ravel(each) for each in observation.values()])


def suite_at(name, view):
    """The Suite's environment in the state of the first env; it moves targets by editing its model."""
    env = suite.load(*SUITE[name], task_kwargs={"random": 0})
    env.reset()
    with env.physics.reset_context():
        env.physics.data.qpos[:] = view.qpos[0].numpy()
        env.physics.data.qvel[:] = view.qvel[0].numpy()
        if name == "finger_turn_hard":
            env.physics.named.model.site_pos["target"] = view.goal("target")[0].numpy()
        if name == "manipulator_bring_ball":
            env.physics.named.model.body_pos["target_ball"] = view.goal("target_ball")[0, :3].numpy()
            env.physics.named.model.body_quat["target_ball"] = view.goal("target_ball")[0, 3:].numpy()
    return env


@pytest.mark.parametrize(
    ("name", "scale"),
    [
        pytest.param(name, scale, marks=[] if scale == 1.0 and name in QUICK else pytest.mark.slow)
        for name in SUITE
        for scale in (1.0, 0.1)
    ],
)
def test_whole_episodes_equal_the_suites(name, scale):
    task = load_task(name)
    envs = task.make_envs([3], 1)
    first = envs.reset()
    env = suite_at(name, envs.view)
    same(first[0], flat(env.task.get_observation(env.physics)))
    rng = np.random.default_rng(0)
    low, high = envs.action_low.numpy(), envs.action_high.numpy()
    ours, theirs = [], []
    for _ in range(task.episode_steps):
        action = (scale * rng.uniform(low, high)).astype(np.float32)
        ours.append(envs.step(torch.from_numpy(action)[None]))
        theirs.append(env.step(action))
    same(torch.cat([each.final_observation for each in ours]), [flat(each.observation) for each in theirs])
    inputs = {name: torch.cat([each.inputs[name] for each in ours]) for name in ours[0].inputs}
    # The finger's human reward is not the Suite's.
    paid = (inputs["distance"] <= 0.0).double() if name == "finger_turn_hard" else total_reward(task, inputs)
    same(paid, [each.reward for each in theirs])
    ended = [bool(each.truncated[0]) for each in ours]
    assert ended == [each.last() for each in theirs] == [False] * 999 + [True]
    assert not any(each.terminated[0] for each in ours)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if name in ("cheetah_run", "quadruped_run") else name
        for name in SUITE
    ],
)
def test_initial_states_are_distributed_as_the_suites(name):
    envs = load_task(name).make_envs([0], 600)
    envs.reset()
    ours = np.concatenate((envs.view.qpos, envs.view.qvel), 1)
    env = suite.load(*SUITE[name], task_kwargs={"random": 0})
    theirs = []
    for _ in range(300):
        env.reset()
        theirs.append(np.concatenate((env.physics.data.qpos, env.physics.data.qvel)))
    spread = np.std(theirs, 0)
    assert (np.abs(ours.mean(0) - np.mean(theirs, 0)) <= 0.3 * spread).all()
    assert (np.abs(ours.std(0) - spread) <= 0.2 * spread + 1e-9).all()
