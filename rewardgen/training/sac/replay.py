"""The transitions that slices learn from, each slice from its own.

Shapes: T control steps, S slices, N envs per slice, B sampled transitions, O observation size, A action size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from rewardgen.training.shared.normaliser import RewardScaler
from rewardgen.training.shared.rollout import Rollout


class Sampled(NamedTuple):
    """Sampled transitions over some control steps, fewer where the episode ends before."""

    observation: Tensor  # before the first step, as simulated, (S, B, O)
    action: Tensor  # of the first step, in units of half the action range, (S, B, A)
    reward: Tensor  # scaled, discounted and summed, (S, B)
    next_observation: Tensor  # after the last step, (S, B, O)
    discount: Tensor  # of what comes after; 0 where the episode has terminated, (S, B)


class Replay:
    """The last transitions of S slices."""

    def __init__(self, steps: int, slices: int, num_envs: int, sizes: tuple[int, int], device: torch.device) -> None:
        observation, action = self._sizes = sizes
        # A tensor per slice: a slice that is dropped frees its memory, and nothing is copied.
        self._rows = [torch.empty(steps, num_envs, 2 * observation + action, device=device) for _ in range(slices)]
        self._outcomes = [torch.empty(steps, num_envs, 3, device=device) for _ in range(slices)]
        """Reward, terminated and done."""
        self._steps, self._num_envs, self._next, self.stored = steps, num_envs, 0, 0

    def add(self, rollout: Rollout, reward: Tensor) -> None:
        """Add a rollout with its rewards (T, S, N), over the oldest steps."""
        rows = torch.cat([rollout.observation, rollout.action, rollout.final_observation], dim=-1)
        outcomes = torch.stack([reward, rollout.terminated.float(), rollout.done.float()], dim=-1)
        places = [(self._next + step) % self._steps for step in range(len(reward))]
        for kept, new in ((self._rows, rows), (self._outcomes, outcomes)):
            for index, of_slice in enumerate(kept):
                of_slice[places] = new[:, index]
        self._next = (self._next + len(reward)) % self._steps
        self.stored = min(self._steps, self.stored + len(reward))

    def keep(self, rows: list[int]) -> None:
        """See `SliceLearner.keep`."""
        self._rows, self._outcomes = [self._rows[row] for row in rows], [self._outcomes[row] for row in rows]

    def sample(
        self, count: int, n_step: int, discount: float, scaler: RewardScaler, generators: Sequence[torch.Generator]
    ) -> Sampled:
        """Draw B = `count` transitions of each slice, over `n_step` control steps each."""
        num_envs = self._num_envs
        starts = (self.stored - n_step + 1) * num_envs
        drawn = [torch.randint(starts, (count,), generator=source, device=source.device) for source in generators]
        start = torch.stack(drawn)
        oldest = self._next - self.stored
        step, env = start // num_envs + oldest, start % num_envs
        first = last = step % self._steps * num_envs + env
        reward, alive = torch.zeros_like(start, dtype=torch.float32), torch.ones_like(start, dtype=torch.float32)
        factor = torch.ones_like(reward)
        for later in range(n_step):
            place = (step + later) % self._steps * num_envs + env
            gained, terminated, done = _taken(self._outcomes, place).unbind(-1)
            reward = reward + discount**later * alive * scaler.scaled(gained)
            factor = torch.where(alive > 0, discount ** (later + 1) * (1 - terminated), factor)
            last = torch.where(alive > 0, place, last)
            alive = alive * (1 - done)
        observation, action = self._sizes
        before = _taken(self._rows, first)
        after = _taken(self._rows, last)[..., observation + action :]
        return Sampled(
            before[..., :observation], before[..., observation : observation + action], reward, after, factor
        )


def _taken(values: Sequence[Tensor], places: Tensor) -> Tensor:
    """Entries (S, B, K) of each slice's values (T, N, K) at places (S, B) among T * N."""
    pairs = zip(values, places, strict=True)
    return torch.stack([of_slice.flatten(0, 1).index_select(0, chosen) for of_slice, chosen in pairs])
