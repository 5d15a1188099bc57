"""Recorded actions as a policy: a process without generated code plays them again from its own starts and measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from torch import Tensor

from rewardgen.core.errors import TaskError
from rewardgen.training.policies import Arrays, save_policy

_EXACT = 1e-6
"""Largest deviation of the sum of an observation, relative above 1."""


@dataclass
class ReplayedPolicy:
    """The actions of E episodes, T steps at most; see `rewardgen.training.policies.Policy`.

    It acts once, in the envs and from the starts of the recording. Where an observation differs from the recorded one,
    it raises a TaskError: then the actions say nothing about this task.
    """

    actions: Tensor  # (T, E, A)
    sums: Tensor  # of the observations, (T, E) float64
    lengths: Tensor  # (E,) int64
    observation_size: int
    action_low: Tensor
    action_high: Tensor
    step: int = field(default=0, init=False)

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> ReplayedPolicy:
        """See `Policy.from_arrays`."""
        actions, lengths = arrays.take("actions", (None, None, None)), arrays.take("lengths", (None,), np.int64)
        steps, episodes, size = actions.shape
        sums = arrays.take("sums", (steps, episodes), np.float64)
        if len(lengths) != episodes or not bool(((lengths >= 1) & (lengths <= steps)).all()):
            raise ValueError("`lengths` does not fit its actions")
        (observation,) = arrays.take("observation_size", (1,), np.int64).tolist()
        return cls(
            actions, sums, lengths, observation, *(arrays.take(f"action/{end}", (size,)) for end in ("low", "high"))
        )

    def save(self, path: Path) -> None:
        """Write the policy to a file; raise a RunFolderError if that fails."""
        arrays = {"actions": self.actions, "sums": self.sums, "lengths": self.lengths}
        ends = {"action/low": self.action_low, "action/high": self.action_high}
        save_policy(path, "replay", {**arrays, **ends, "observation_size": [self.observation_size]})

    def act(self, observation: Tensor) -> Tensor:
        """See `Policy.act`; the next recorded actions."""
        step, self.step = min(self.step, len(self.actions) - 1), self.step + 1
        if len(observation) != len(self.lengths):
            message = f"{len(self.lengths)} episodes were recorded, {len(observation)} are to be played again"
            raise TaskError(message, "measure the policy again")
        sums, recorded = observation.double().sum(1), self.sums[step]
        differs = (sums - recorded).abs() > _EXACT * recorded.abs().clamp(min=1.0)
        if bool((differs & (self.lengths >= self.step)).any()):
            message = f"its recorded actions, played again, lead elsewhere from step {self.step} on"
            raise TaskError(message, "the task's episodes must repeat to the last digits for the same seed")
        return self.actions[step]

    @staticmethod
    def stack(policies: Sequence[ReplayedPolicy]) -> None:
        """See `Policy.stack`; these act in turn."""
