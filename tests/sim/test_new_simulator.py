"""A physics engine from outside the package, without MuJoCo, and a task on it: all in this file."""

import pytest
import torch
from torch import Tensor

from rewardgen import Var
from rewardgen.core.errors import UsageError
from rewardgen.sim.episodes import record_episodes
from rewardgen.sim.protocol import SIMULATORS, Simulator
from rewardgen.sim.sim_env import SimulatorEnv
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.protocol import Task
from rewardgen.testing.simulator import PointMasses
from tests.sim.test_vec_env import POINT


class Pucks(Simulator):
    """Pucks that are pushed along a line."""

    device = torch.device("cpu")
    control_step_s, state_size, action_parts = 0.1, (1, 1), ("push",)

    def __init__(self, num_envs: int) -> None:
        self.num_envs = num_envs
        self.action_low, self.action_high = -torch.ones(1), torch.ones(1)
        self._state = {name: torch.zeros(num_envs, 1, dtype=torch.float64) for name in ("place", "speed")}
        self._before = {name: values.clone() for name, values in self._state.items()}

    def field(self, name: str) -> Tensor:
        return self._state[name]

    def before(self, name: str) -> Tensor:
        return self._before[name]

    def step(self, control: Tensor, ids: Tensor | None = None) -> None:
        rows = torch.arange(self.num_envs) if ids is None else ids
        for name, values in self._before.items():
            values.copy_(self._state[name])
        self._state["speed"][rows] += 0.1 * control[rows].double()
        self._state["place"][rows] += 0.1 * self._state["speed"][rows]

    def reset(self, which, qpos=None, qvel=None, mocap=None) -> None:
        for name, values in (("place", qpos), ("speed", qvel)):
            self._state[name][which] = 0.0 if values is None else values
            self._before[name][which] = self._state[name][which]

    def restore_diverged(self) -> Tensor:
        return torch.zeros(self.num_envs, dtype=torch.bool)


class Reach(Task):
    """Push the puck to its mark, one metre ahead."""

    episode_steps = 40
    gap = Var("m", "distance to the mark")

    def make_envs(self, seeds, envs_per_seed, *, device="cpu"):
        return SimulatorEnv(self, Pucks(len(seeds) * envs_per_seed), seeds)

    def reset(self, sim, draw):
        return (
            draw.uniform(-0.1, 0.1, 1),
            torch.zeros(draw.num_envs, 1).double(),
            {"mark": draw.uniform(0.9, 1.1, 1)[:, 0]},
        )

    def read(self, sim):
        return {"gap": (sim.goal("mark") - sim.field("place")[:, 0]).abs()}

    def observe(self, sim, variables):
        return torch.cat((sim.goal("mark")[:, None] - sim.field("place"), sim.field("speed")), 1)

    def terminated(self, sim, variables):
        return {"too far": sim.field("place")[:, 0] > 2.0}

    def fitness(self, episode):
        return -episode.last(episode["gap"])

    def success(self, episode):
        return episode.last(episode["gap"]) < 0.1


def test_a_task_on_an_engine_from_outside_is_played_and_measured():
    Reach.path = POINT
    task = Reach()
    envs = task.make_envs([0, 1], 3)
    assert (envs.agents, envs.choices, envs.most_envs, envs.model, envs.body_words) == ((), (), None, None, "")
    assert envs.perturb(0) is None and envs.scripted_policy() is None and envs.beyond_actions() == {}
    towards = record_episodes(envs, lambda seen: 3.0 * seen[:, :1] - 3.0 * seen[:, 1:])
    assert task.success(towards.episode).all() and set(towards.endings) == {"time limit"}
    away = record_episodes(envs, lambda seen: torch.ones(6, 1))
    assert set(away.endings) == {"too far"} and (task.fitness(away.episode) < task.fitness(towards.episode)).all()
    first, second = (task.make_envs([seed], 3).reset() for seed in (0, 1))
    assert torch.equal(task.make_envs([0, 1], 3).reset(), torch.cat((first, second)))


def test_a_mujoco_task_runs_on_a_simulator_that_was_registered():
    SIMULATORS.register("point-masses", PointMasses)
    try:
        task = load_task(str(POINT))
        task.simulator = "point-masses"
        envs = task.make_envs([3, 4], 2)
        envs.reset()
        speeds = torch.stack([envs.step(envs.action_high.expand(4, -1)).inputs["velocity"] for _ in range(3)])
        gained = speeds.diff(dim=0)
        assert bool((gained > 0).all()) and torch.allclose(gained[0], gained[1])  # a constant push, and no friction
        task.simulator = "point-mases"
        with pytest.raises(UsageError, match="unknown simulator `point-mases`") as caught:
            task.make_envs([0], 1)
        assert "point-masses" in caught.value.hint
    finally:
        SIMULATORS.remove("point-masses")
