"""The reward that is being probed, with its values on recorded transitions: what detectors of the probe are given."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from rewardgen.critic.probe.component_source import ComponentSource
from rewardgen.critic.probe.trace import Step, trace
from rewardgen.reward.program import RewardError
from rewardgen.sim.transitions import TransitionSet
from rewardgen.store.records import Finding, Severity

Inputs = dict[str, Tensor]
Call = Callable[[Inputs], Mapping[str, Tensor]]
"""A reward with its constants: inputs, each (N, ...), to components, each (N,)."""

_TRACED_ROWS = 512
ZERO = 1e-8
"""What is no larger pays nothing."""


@dataclass(frozen=True, eq=False)
class ProbedReward:
    """A reward that runs on all of a set of transitions.

    Attributes:
        call: The reward.
        reads: Names of its inputs.
        transitions: M rows.
        source: Where in its source its components are made.
        components: Its components on the transitions, each (M,).
    """

    call: Call
    reads: tuple[str, ...]
    transitions: TransitionSet
    source: ComponentSource
    components: Mapping[str, Tensor]

    @cached_property
    def inputs(self) -> Inputs:
        """What it reads of the transitions, each (M, ...)."""
        return {name: self.transitions.inputs[name] for name in self.reads}

    @cached_property
    def total(self) -> Tensor:
        """The reward on the transitions, (M,)."""
        return summed(self.components)

    @cached_property
    def spread(self) -> float:
        """Distance of the 5 and 95 % quantiles of the reward on the transitions; what is small next to it is noise."""
        low, high = torch.quantile(self.total[self.transitions.reachable], torch.tensor((0.05, 0.95))).tolist()
        return max(high - low, 1e-6 * float(self.total.abs().max()), 1e-9)

    @cached_property
    def moving(self) -> dict[str, float]:
        """The components that depend on the step before, and how much of each is only there because something moved."""
        if not any(name.startswith("prev_") for name in self.reads):
            return {}
        still = self.components_at(self.transitions.still)
        changes = {name: (still[name] - value).abs() for name, value in self.components.items()}
        return {
            name: float(change.mean())
            for name, change in changes.items()
            if float(change.max()) > 1e-6 * float(self.components[name].abs().max())
        }

    @cached_property
    def with_flags(self) -> Inputs:
        """Its inputs with every flag 0 in some rows and 1 in others, in all combinations, (M, ...); none without flags.

        One that was only ever recorded as 0 may be 1 later.
        """
        flags = [name for name in self.reads if name.removeprefix("prev_") in self.transitions.facts.flags]
        rows = torch.arange(len(self.transitions))
        # The rows count in binary, with a digit for each flag.
        digits = {name: (rows >> place & 1).to(self.inputs[name]) for place, name in enumerate(flags)}
        placed = {name: each.view(-1, *[1] * (self.inputs[name].dim() - 1)) for name, each in digits.items()}
        return self.inputs | {name: each.expand_as(self.inputs[name]) for name, each in placed.items()} if flags else {}

    @cached_property
    def by_flags(self) -> frozenset[str]:
        """The components that change with a flag, whatever was recorded of it."""
        if not self.with_flags:
            return frozenset()
        changes = {name: value - self.components[name] for name, value in self.components_at(self.with_flags).items()}
        return frozenset(name for name, change in changes.items() if float(change.abs().max()) > ZERO)

    @cached_property
    def steps(self) -> list[Step]:
        """What it computes on some of the reachable rows.

        Raises:
            RewardError: It fails on fewer rows than there are transitions.
        """
        return trace(self.call, self.rows(self.transitions.reachable, _TRACED_ROWS))

    def components_at(self, inputs: Inputs) -> Mapping[str, Tensor]:
        """Components at other inputs, each (n,).

        Args:
            inputs: Every input that the reward reads, (n, ...).

        Raises:
            RewardError: It fails there.
        """
        return self.call({name: inputs[name] for name in self.reads})

    def total_at(self, inputs: Inputs) -> Tensor:
        """The reward at other inputs, (n,); see `components_at`."""
        return summed(self.components_at(inputs))

    def concerns(self, variables: set[str]) -> bool:
        """Whether the reward reads any of these variables, now or one step earlier."""
        return any(name.removeprefix("prev_") in variables for name in self.reads)

    def rows(self, which: Tensor, most: int) -> Inputs:
        """What it reads in some rows of the transitions, evenly chosen.

        Args:
            which: Rows to choose from, (M,) bool.
            most: How many at the most.
        """
        chosen = evenly(which.nonzero()[:, 0], most)
        return {name: value[chosen] for name, value in self.inputs.items()}


def summed(components: Mapping[str, Tensor]) -> Tensor:
    """The reward from its components, each (M,)."""
    return torch.stack(tuple(components.values())).sum(0)


def evenly(values: Tensor, most: int) -> Tensor:
    """Some of (n,) values at even distances, the first and the last among them; all if there are not more."""
    return values[torch.linspace(0, max(len(values) - 1, 0), min(most, len(values))).long()]


def finding(
    detector: str,
    message: str,
    hint: str,
    evidence: Mapping[str, float],
    component: str | None = None,
    *,
    severity: Severity = "warn",
) -> Finding:
    """A finding of the gate `probe`.

    Args:
        detector: Its stable name.
        message: What was seen.
        hint: What to do about it.
        evidence: The measured values by name.
        component: The component concerned.
        severity: `reject` if it keeps the reward from being trained.
    """
    return Finding(
        gate="probe",
        detector=detector,
        severity=severity,
        message=message,
        hint=hint,
        component=component,
        evidence={name: float(f"{value:.6g}") for name, value in evidence.items() if math.isfinite(value)},
    )


_FAILURES = {"exception": "probe-exception", "shape": "probe-shape", "non-finite": "non-finite"}


def failure(error: RewardError, where: str, evidence: Mapping[str, float] | None = None) -> Finding:
    """The rejection for a call that failed.

    Args:
        error: What the reward raised.
        where: In which situation.
        evidence: The numbers of that situation by name.
    """
    message = f"{error.message} ({where})"
    found = finding(_FAILURES[error.kind], message, error.hint, evidence or {}, error.component, severity="reject")
    return found.model_copy(update={"line": error.line})
