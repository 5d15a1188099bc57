"""Recorded actions as a policy: a process without generated code plays them again from its own starts and measures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from torch import Tensor

from rewardgen.core.errors import TaskError
from rewardgen.training.policies import Arrays, save_policy

_EXACT = 1e-6
"""Largest deviation of the sum of an observation, relative above 1."""


class ReplayedPolicy:
    """The actions of E episodes, T steps at most; see `rewardgen.training.policies.Policy`.

    It acts once, in the envs and from the starts of the recording. Where an observation differs from the recorded one,
    it raises a TaskError: then the actions say nothing about this task.
    """

    def __init__(
        self, actions: Tensor, sums: Tensor, lengths: Tensor, size: int, action_low: Tensor, action_high: Tensor
    ) -> None:
        self._actions, self._sums, self._lengths, self._step = actions, sums, lengths, 0
        self.observation_size, self.action_low, self.action_high = size, action_low, action_high

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
        arrays = {"actions": self._actions, "sums": self._sums, "lengths": self._lengths}
        ends = {"action/low": self.action_low, "action/high": self.action_high}
        save_policy(path, "replay", {**arrays, **ends, "observation_size": [self.observation_size]})

    def act(self, observation: Tensor) -> Tensor:
        """See `Policy.act`; the next recorded actions."""
        step, self._step = min(self._step, len(self._actions) - 1), self._step + 1
        if len(observation) != len(self._lengths):
            message = f"{len(self._lengths)} episodes were recorded, {len(observation)} are to be played again"
            raise TaskError(message, "measure the policy again")
        sums, recorded = observation.double().sum(1), self._sums[step]
        differs = (sums - recorded).abs() > _EXACT * recorded.abs().clamp(min=1.0)
        if bool((differs & (self._lengths >= self._step)).any()):
            message = f"its recorded actions, played again, lead elsewhere from step {self._step} on"
            raise TaskError(message, "the task's episodes must repeat to the last digits for the same seed")
        return self._actions[step]

    @staticmethod
    def stack(policies: Sequence[ReplayedPolicy]) -> None:
        """See `Policy.stack`; these act in turn."""
