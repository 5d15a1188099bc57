"""Physics that each episode draws from ranges: factors on the model's values, and the delay of actions."""

from __future__ import annotations

import torch
from torch import Tensor

from rewardgen.core.physics import DELAY, PARAMETERS, Ranges
from rewardgen.sim.draws import Draws, stream_keys
from rewardgen.sim.protocol import Simulator
from rewardgen.sim.tensors import put_rows

_STREAM = 41
"""Label of the streams, apart from those of the starts."""


class Variation:
    """Physics of N envs, drawn as their episodes begin.

    An episode draws the same value of a parameter whichever others vary. Raises a TaskError if the simulator cannot
    change its model.
    """

    def __init__(self, ranges: Ranges, simulator: Simulator) -> None:
        self._ranges, self._simulator = ranges, simulator
        self._all = torch.arange(simulator.num_envs, device=simulator.device)
        if factors := {name: torch.ones(len(self._all)) for name in ranges if name != DELAY}:
            simulator.vary(self._all, factors)
        self._delay = torch.zeros_like(self._all)
        self._rest = torch.zeros_like(simulator.action_low).clamp(simulator.action_low, simulator.action_high)
        self._sent = self._rest.repeat(int(ranges.get(DELAY, (0, 0))[1]) + 1, len(self._all), 1)
        """Actions of the last control steps, latest first."""

    def begin(self, which: Tensor, seeds: Tensor, index: Tensor, episode: Tensor) -> None:
        """Draw the physics of new episodes in some envs, (n,) int64 or (N,) bool, before they are reset.

        Seed, index among the envs of the seed and number of each episode, (n,) int64, decide the draw.
        """
        draw = Draws(stream_keys(seeds, index, episode, torch.full_like(episode, _STREAM)))
        drawn = dict(zip(PARAMETERS, draw.uniform(0.0, 1.0, len(PARAMETERS)).T, strict=True))
        factors = {}
        for name, (low, high) in self._ranges.items():
            if name == DELAY:
                whole = (low + (high - low + 1) * drawn[name]).long().clamp(max=int(high))  # a draw may round up to 1
                put_rows(self._delay, which, whole)
            else:
                factors[name] = low + (high - low) * drawn[name]
        if factors:
            self._simulator.vary(which, factors)
        self._sent[:, which] = self._rest

    def delayed(self, action: Tensor) -> Tensor:
        """Return the actions to apply after a new one, (N, A): zero until an episode's first action is due."""
        self._sent = torch.cat((action[None], self._sent[:-1]))
        return self._sent[self._delay, self._all]
