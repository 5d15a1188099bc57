"""A kind of task of its own, without MuJoCo: walks along a line. A stand-in for what a user might bring."""

import torch
from torch import Tensor

from rewardgen import PpoSettings, Var
from rewardgen.sim.vec_env import Step, VecEnv
from rewardgen.tasks.protocol import Task


class Walks(VecEnv):
    """Walkers along a line; a `VecEnv`."""

    device = torch.device("cpu")
    observation_size = action_size = 1
    action_parts = ("step",)
    control_step_s = 0.1
    variables = ("place", "pace")
    causes = ("left",)

    def __init__(self, seeds, envs_per_seed, episode_steps):
        self.num_envs = len(seeds) * envs_per_seed
        self.episode_steps = episode_steps
        self.action_low, self.action_high = -torch.ones(1), torch.ones(1)
        self._draws = [
            torch.Generator().manual_seed(1000 * seed + env) for seed in seeds for env in range(envs_per_seed)
        ]
        self._resting = torch.zeros(self.num_envs, dtype=torch.bool)
        self._place, self._steps = torch.zeros(self.num_envs), torch.zeros(self.num_envs, dtype=torch.int64)
        self._last: dict[str, Tensor] = {}

    def reset(self, *, staggered: bool = False, anew: bool = False) -> Tensor:
        self._resting[:] = False
        if anew:
            for draws in self._draws:
                draws.manual_seed(draws.initial_seed())
        self._begin(torch.ones(self.num_envs, dtype=torch.bool))
        return self._place[:, None].clone()

    def step(self, action: Tensor) -> Step:
        action = action.clamp(self.action_low, self.action_high)
        active = ~self._resting
        self._steps += active
        self._place = torch.where(active, self._place + 0.1 * action[:, 0], self._place)
        now = {"place": self._place.clone(), "pace": action[:, 0].clone(), "action": action.clone()}
        first = self._steps == 1
        before = {
            f"prev_{name}": torch.where(first.view(-1, *[1] * (value.dim() - 1)), value, self._last.get(name, value))
            for name, value in now.items()
        }
        self._last = now
        terminated = active & (self._place.abs() > 2.0)
        truncated = active & ~terminated & (self._steps >= self.episode_steps)
        steps, final = self._steps.clone(), self._place[:, None].clone()
        self._begin(terminated | truncated)
        return Step(
            self._place[:, None].clone(), final, now | before, terminated, truncated, {"left": terminated}, steps
        )

    def rest(self, which: Tensor) -> None:
        self._resting |= which

    def _begin(self, which: Tensor) -> None:
        drawn = torch.stack([torch.rand((), generator=each) - 0.5 for each in self._draws])
        self._place = torch.where(which, drawn, self._place)
        self._steps[which] = 0


class WalkTask(Task):
    """What every task of this kind has."""

    def make_envs(self, seeds, envs_per_seed):
        return Walks(seeds, envs_per_seed, self.episode_steps)


class StayHome(WalkTask):
    """A walker that should stay at the middle of the line."""

    episode_steps = 30
    training = {"ppo": PpoSettings(env_steps=1024, num_envs=16, rollout_steps=32, evaluation_phases=2)}
    place = Var("m", "where it is; 0 is the middle")
    pace = Var("m", "its last step")

    def observe(self):
        """The place."""

    def reset(self):
        """Anywhere within half a metre of the middle."""

    def terminated(self):
        """More than two metres away."""

    def fitness(self, episode):
        """Share of the time within 0.2 m of the middle."""
        return episode.share(episode["place"].abs() < 0.2)

    def success(self, episode):
        """Within 0.2 m of the middle at the end."""
        return episode.last(episode["place"]).abs() < 0.2

    @staticmethod
    def human_reward(place):
        return {"home": -place.abs()}
