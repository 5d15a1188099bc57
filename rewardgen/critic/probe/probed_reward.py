"""A reward with its values on recorded transitions, which detectors are given."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from rewardgen.critic.probe.reward_source import RewardSource
from rewardgen.reward.program import RewardError
from rewardgen.sim.transitions import TransitionSet, between
from rewardgen.store.records import Finding, Severity

if TYPE_CHECKING:
    from rewardgen.critic.probe.stages import Machine

Inputs = dict[str, Tensor]
Call = Callable[[Inputs], Mapping[str, Tensor]]
"""A reward with its constants: inputs, each (N, ...), to components, each (N,)."""

_PAIR_ROWS = 48
ZERO = 1e-8
"""Pay up to this size is none."""


@dataclass(frozen=True, eq=False)
class ProbedReward:
    """A reward that runs on all recorded transitions, M rows, with its components there, each (M,).

    `reads` are the names of its inputs, `machine` its stages, and `eyes` its `observe`, with columns as components.
    """

    call: Call
    reads: tuple[str, ...]
    transitions: TransitionSet
    source: RewardSource
    components: Mapping[str, Tensor]
    machine: Machine | None = None
    eyes: ProbedReward | None = None

    @cached_property
    def inputs(self) -> Inputs:
        """Its inputs on the transitions, each (M, ...)."""
        return {name: self.transitions.inputs[name] for name in self.reads}

    @cached_property
    def total(self) -> Tensor:
        """The reward on the transitions, (M,)."""
        return summed(self.components)

    @cached_property
    def varying(self) -> dict[str, Tensor]:
        """Components without a `residual` of zero, each (M,)."""
        return {
            name: value
            for name, value in self.components.items()
            if name != "residual" or bool((value.abs() > ZERO).any())
        }

    @cached_property
    def spread(self) -> float:
        """Distance of the 5 and 95 % quantiles of the reward; much smaller differences are noise."""
        low, high = torch.quantile(self.total[self.transitions.reachable], torch.tensor((0.05, 0.95))).tolist()
        return max(high - low, 1e-6 * float(self.total.abs().max()), 1e-9)

    @cached_property
    def moving(self) -> dict[str, float]:
        """Components that depend on the step before, with the mean size of that part of their pay."""
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
        """Its inputs with its flags in all combinations of 0 and 1 over the rows, (M, ...); empty without flags.

        A flag that was only recorded as 0 may be 1 later.
        """
        flags = [name for name in self.reads if name.removeprefix("prev_") in self.transitions.facts.flags]
        rows = torch.arange(len(self.transitions))
        # The rows count in binary, with a digit for each flag.
        digits = {name: (rows >> place & 1).to(self.inputs[name]) for place, name in enumerate(flags)}
        placed = {name: digit.view(-1, *[1] * (self.inputs[name].dim() - 1)) for name, digit in digits.items()}
        return (
            self.inputs | {name: digit.expand_as(self.inputs[name]) for name, digit in placed.items()} if flags else {}
        )

    @cached_property
    def by_flags(self) -> frozenset[str]:
        """Components that change with a flag."""
        if not self.with_flags:
            return frozenset()
        changes = {name: value - self.components[name] for name, value in self.components_at(self.with_flags).items()}
        return frozenset(name for name, change in changes.items() if float(change.abs().max()) > ZERO)

    @cached_property
    def moves(self) -> dict[tuple[int, int], Inputs]:
        """Rows by the stages that they lead from and to, (n, ...): recorded ones and the situations of pairs."""
        if self.machine is None:
            return {}
        moves, rows = {}, self.inputs
        for pair in self.transitions.facts.pairs:
            placed = between(self.rows(self.transitions.typical, _PAIR_ROWS), pair, torch.tensor([0.0, 1.0]))
            rows = {name: torch.cat([value, placed[name]]) for name, value in rows.items()}
        for before in range(len(self.machine.names)):
            after = self.machine.next_stage(before, rows)
            for index in after.unique().tolist():
                moves[before, index] = {name: value[after == index] for name, value in rows.items()}
        return moves

    def components_at(self, inputs: Inputs) -> Mapping[str, Tensor]:
        """Return the components, (n,) each, at other inputs, (n, ...).

        Raises:
            RewardError: The reward fails there.
        """
        return self.call({name: inputs[name] for name in self.reads})

    def concerns(self, variables: set[str]) -> bool:
        """Return True if the reward reads any of these variables, now or one step earlier."""
        return any(name.removeprefix("prev_") in variables for name in self.reads)

    def rows(self, which: Tensor, most: int) -> Inputs:
        """Return its inputs in at most so many rows, evenly chosen from some, (M,) bool."""
        chosen = evenly(which.nonzero()[:, 0], most)
        return {name: value[chosen] for name, value in self.inputs.items()}


def summed(components: Mapping[str, Tensor]) -> Tensor:
    """Return the reward from its components, each (M,)."""
    return torch.stack(tuple(components.values())).sum(0)


def evenly(values: Tensor, most: int) -> Tensor:
    """Return at most so many of (n,) values at even distances, the first and the last among them."""
    return values[torch.linspace(0, max(len(values) - 1, 0), min(most, len(values))).long()]


def is_flat(value: Tensor) -> bool:
    """Return True if a component, (n,), is the same everywhere."""
    return float(value.max() - value.min()) <= ZERO + 1e-6 * float(value.abs().max())


def finding(
    detector: str,
    message: str,
    hint: str,
    evidence: Mapping[str, float],
    component: str | None = None,
    *,
    severity: Severity = "warn",
) -> Finding:
    """Make a finding of the gate `probe`; the evidence has six digits, and finite values alone."""
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
    """Make the rejection for a call that failed in a situation, told in words and numbers."""
    message = f"{error.message} ({where})"
    rejection = finding(_FAILURES[error.kind], message, error.hint, evidence or {}, error.component, severity="reject")
    return rejection.model_copy(update={"line": error.line})
