"""The eleven tasks of Gymnasium against Gymnasium's own environments: same states, same actions, whole episodes."""

import gymnasium
import mujoco
import numpy as np
import pytest
import torch

from rewardgen.tasks.loading import load_task

IDS = {
    "hopper": "Hopper-v5",
    "walker2d": "Walker2d-v5",
    "half_cheetah": "HalfCheetah-v5",
    "ant": "Ant-v5",
    "humanoid": "Humanoid-v5",
    "humanoid_standup": "HumanoidStandup-v5",
    "swimmer": "Swimmer-v5",
    "reacher": "Reacher-v5",
    "pusher": "Pusher-v5",
    "inverted_pendulum": "InvertedPendulum-v5",
    "inverted_double_pendulum": "InvertedDoublePendulum-v5",
}
NEVER_END = ("half_cheetah", "humanoid_standup", "swimmer", "reacher", "pusher")
LONG = ("humanoid_standup", "hopper", "swimmer", "half_cheetah")
"""These are compared with the slow tests; the hopper, which large actions throw down, with small ones before."""
SEEDS = 2


def inputs_of(function):
    return function.__code__.co_varnames[: function.__code__.co_argcount]


def total_reward(task, inputs):
    components = task.human_reward(*(inputs[name].double() for name in inputs_of(task.human_reward)))
    return sum(components.values())


def gymnasium_at(name, qpos, qvel):
    env = gymnasium.make(IDS[name])
    env.reset(seed=0)
    inner = env.unwrapped
    mujoco.mj_resetData(inner.model, inner.data)
    inner.set_state(qpos.numpy().copy(), qvel.numpy().copy())
    return env


def random_actions(env, scale, seed):
    rng = np.random.default_rng(seed)
    space = env.action_space
    while True:
        yield (scale * rng.uniform(space.low, space.high)).astype(np.float32)


# Small actions are for robots that fall at once with large ones.
@pytest.mark.parametrize(
    ("name", "scale"),
    [
        pytest.param(name, scale, marks=[] if (scale == 1.0) != (name in LONG) else pytest.mark.slow)
        for name in IDS
        for scale in (1.0, 0.05)
        if scale == 1.0 or name not in NEVER_END
    ],
)
def test_whole_episodes_equal_gymnasiums(name, scale):
    task = load_task(name)
    envs = task.make_envs([7], SEEDS)
    first_observation = envs.reset()
    gyms = [gymnasium_at(name, envs.view.qpos[i], envs.view.qvel[i]) for i in range(SEEDS)]
    for index, gym in enumerate(gyms):
        same(first_observation[index], gym.unwrapped._get_obs())
    streams = [random_actions(env, scale, seed) for seed, env in enumerate(gyms)]
    running = set(range(SEEDS))
    lived = 0
    while running:
        actions = np.stack([next(stream) for stream in streams])
        step = envs.step(torch.from_numpy(actions))
        rewards = total_reward(task, step.inputs)
        lived += 1
        for index in tuple(running):
            observation, reward, terminated, truncated, _ = gyms[index].step(actions[index])
            same(step.final_observation[index], observation)
            same(rewards[index], reward)
            assert bool(step.terminated[index]) == bool(terminated)
            assert bool(step.truncated[index]) == (bool(truncated) and not terminated)
            assert int(step.episode_step[index]) == lived
            if terminated or truncated:
                running.discard(index)
    assert lived == task.episode_steps if name in NEVER_END else lived >= 4


def same(ours, theirs):
    np.testing.assert_allclose(np.asarray(ours, np.float64), np.asarray(theirs, np.float64), rtol=1e-6, atol=1e-6)
