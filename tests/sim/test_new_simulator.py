"""A simulator from outside the package: one class, registered by name, and tasks run on it."""

import pytest
import torch

from rewardgen.core.errors import UsageError
from rewardgen.sim.episodes import record_episodes
from rewardgen.sim.protocol import SIMULATORS
from rewardgen.tasks.loading import load_task
from rewardgen.testing.simulator import PointMasses
from tests.sim.test_vec_env import POINT


@pytest.fixture
def point():
    SIMULATORS.register("point-masses", PointMasses)
    task = load_task(str(POINT))
    task.simulator = "point-masses"
    yield task
    SIMULATORS.remove("point-masses")


def test_a_task_runs_on_a_simulator_that_was_registered(point):
    envs = point.make_envs([3, 4], 2)
    before = envs.reset()
    push = envs.action_high.expand(4, -1)
    steps = [envs.step(push) for _ in range(3)]
    assert steps[-1].observation.shape == before.shape
    speeds = torch.stack([each.inputs["velocity"] for each in steps])
    gained = speeds.diff(dim=0)
    assert bool((gained > 0).all())  # a constant push, and nothing that slows it down
    assert torch.allclose(gained[0], gained[1])


def test_whole_episodes_are_recorded_and_measured_on_it(point):
    envs = point.make_envs([0], 4)
    recording = record_episodes(envs, lambda observation: torch.zeros(4, envs.action_size))
    assert len(recording.endings) == 4 and point.fitness(recording.episode).shape == (4,)


def test_a_simulator_that_nobody_registered_is_told_by_the_nearest_name(point):
    point.simulator = "point-mases"
    with pytest.raises(UsageError, match="unknown simulator `point-mases`") as caught:
        point.make_envs([0], 1)
    assert "point-masses" in caught.value.hint
