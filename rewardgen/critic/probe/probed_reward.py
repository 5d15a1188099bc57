"""The reward that is being probed, with its values on the bank: what every detector of the probe is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from rewardgen.reward.contract import NAMES_HINT, unshared
from rewardgen.reward.program import RewardError
from rewardgen.sim.transitions import TransitionSet

Inputs = dict[str, Tensor]
Call = Callable[[Inputs], dict[str, Tensor]]
"""A reward with its constants: inputs, each (N, ...), to components, each (N,)."""

_SPREAD = (0.05, 0.95)


@dataclass(frozen=True)
class ProbedReward:
    """A reward that runs on all of a bank.

    Attributes:
        call: The reward.
        reads: Names of its inputs.
        bank: Transitions, M rows.
        components: Its components on them, each (M,).
    """

    call: Call
    reads: tuple[str, ...]
    bank: TransitionSet
    components: Mapping[str, Tensor]

    @cached_property
    def total(self) -> Tensor:
        """The reward on the bank, (M,)."""
        return summed(self.components)

    @cached_property
    def spread(self) -> float:
        """Distance of the 5 and 95 % quantiles of the reward over the bank; what is small next to it is noise."""
        low, high = torch.quantile(self.total[self.bank.reachable], torch.tensor(_SPREAD)).tolist()
        return max(high - low, 1e-6 * float(self.total.abs().max()), 1e-9)

    @cached_property
    def moving(self) -> dict[str, float]:
        """The components that depend on the step before, and how much of each is only there because something moved."""
        if not any(name.startswith("prev_") for name in self.reads):
            return {}
        still = self.components_at(self.bank.still)
        changes = {name: (still[name] - value).abs() for name, value in self.components.items()}
        return {
            name: float(change.mean())
            for name, change in changes.items()
            if float(change.max()) > 1e-6 * float(self.components[name].abs().max())
        }

    def components_at(self, inputs: Inputs) -> dict[str, Tensor]:
        """Components at other inputs, each (n,).

        Args:
            inputs: Every input that the reward reads, (n, ...).

        Raises:
            NamesError: It returns other components than on the bank.
            RewardError: It fails there.
        """
        found = self.call({name: inputs[name].clone() for name in self.reads})
        require_names(found, self.components)
        return found

    def total_at(self, inputs: Inputs) -> Tensor:
        """The reward at other inputs, (n,); see `components_at`."""
        return summed(self.components_at(inputs))

    def concerns(self, variables: set[str]) -> bool:
        """Whether the reward reads any of these variables, now or one step earlier."""
        return any(name.removeprefix("prev_") in variables for name in self.reads)

    def rows(self, which: Tensor, most: int) -> Inputs:
        """Some rows of the bank, evenly spaced.

        Args:
            which: Rows to choose from, (M,) bool.
            most: How many at the most.
        """
        chosen = which.nonzero()[:, 0]
        if len(chosen) > most:
            chosen = chosen[torch.linspace(0, len(chosen) - 1, most).long()]
        return {name: self.bank.inputs[name][chosen] for name in self.reads}


class NamesError(RewardError):
    """A reward returns other components for another number of worlds."""


def require_names(found: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    """Compare the components of two calls for different numbers of worlds.

    Args:
        found: Those of one call, (n,) each.
        expected: Those of another, (M,) each.

    Raises:
        NamesError: They have not the same names.
    """
    names = unshared(found, expected)
    if names:
        few, many = sorted(len(next(iter(each.values()))) for each in (found, expected))
        calls = f"of calls for {few} and for {many} only one returns {names}"
        raise NamesError(f"the component names depend on the number of worlds: {calls}", kind="shape", hint=NAMES_HINT)


def summed(components: Mapping[str, Tensor]) -> Tensor:
    """The reward from its components, each (M,)."""
    return torch.stack(tuple(components.values())).sum(0)
