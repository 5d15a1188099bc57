"""Return of a policy that does nothing: the measure of an alive bonus that is too large.

Shapes: S slices, E idle episodes, which are the same for all slices.
"""

from __future__ import annotations

import torch

from rewardgen.core.errors import TaskError
from rewardgen.sim.episodes import record_episodes
from rewardgen.store.measurements import IdleReading
from rewardgen.tasks.fitness import measure_episodes
from rewardgen.tasks.protocol import Task
from rewardgen.training.shared.rewards import Rewards
from rewardgen.training.shared.seeding import derive_seed

_EPISODES = 4


def idle_readings(task: Task, rewards: Rewards, slices: int) -> list[IdleReading | None]:
    """Return one reading per slice; None where the reward or the fitness cannot be computed on these episodes."""
    envs = task.make_envs([derive_seed(0, "idle")], _EPISODES)
    still = envs.action_low.new_zeros(envs.num_envs, envs.action_size)
    try:
        recording = record_episodes(envs, lambda _: still, names=rewards.input_names)
        fitness = float(measure_episodes(task, recording.episode).fitness.mean())
    except TaskError:
        return [None] * slices
    lengths = recording.episode.lengths
    repeated = {name: torch.cat([value] * slices, dim=1) for name, value in recording.inputs.items()}
    priced = rewards.price(repeated, [True] * slices)
    failed = {fault.slice for fault in priced.faults}
    returns = [
        float((priced.total[:, index].double() * recording.episode.mask).sum(0).mean()) for index in range(slices)
    ]
    return [
        None
        if index in failed
        else IdleReading(episode_return=returns[index], episode_steps=float(lengths.double().mean()), fitness=fitness)
        for index in range(slices)
    ]
