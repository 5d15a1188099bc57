"""What the task declares that a reward must not notice: moved worlds, flipped quaternions, angles at their seam."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

import torch

from rewardgen.critic.probe.findings import warning
from rewardgen.critic.probe.probed_reward import Inputs, ProbedReward
from rewardgen.sim.variables import Flip, Invariance, Shift, Wrap, variables_of
from rewardgen.store.records import Finding

_ROWS = 96
_TOLERANCE = 0.05
"""Of the reward's spread."""
_STATES = 0.3
_STEP = 1e-3
_SEAM = math.pi - _STEP


def check_invariances(subject: ProbedReward) -> Iterator[Finding]:
    """Find declared changes of the inputs that change the reward.

    Args:
        subject: The reward.

    Raises:
        RewardError: The reward fails at the changed inputs.
    """
    rows = subject.rows(torch.ones(len(subject.bank), dtype=torch.bool), _ROWS)
    for invariance in subject.bank.facts.invariances:
        for names in _together(invariance):
            if subject.concerns(set(names)):
                found = [*_compare(subject, names, _variants(invariance, names, rows), invariance.kind)]
                yield from found or _compare(subject, names, _at_zero(invariance, names, rows), "zero")


def _together(invariance: Invariance) -> list[tuple[str, ...]]:
    """The variables that change at the same time."""
    names = variables_of(invariance)
    return [names] if isinstance(invariance, Shift) else [(name,) for name in names]


def _compare(
    subject: ProbedReward,
    names: tuple[str, ...],
    variants: list[Inputs],
    kind: Literal["shift", "flip", "wrap", "zero"],
) -> Iterator[Finding]:
    found = [subject.components_at(each) for each in variants]
    for first, other in ((found[0], each) for each in found[1:]):
        changes = {name: (other[name] - value).abs() for name, value in first.items()}
        change = (torch.stack(list(other.values())).sum(0) - torch.stack(list(first.values())).sum(0)).abs()
        share = float((change > _TOLERANCE * subject.spread).float().mean())
        if share >= _STATES:
            culprit = max(changes, key=lambda name: float(changes[name].mean()))
            listed = " and ".join(f"`{name}`" for name in names)
            words, hint = _WORDS[kind]
            amount = float(change.mean())
            message = f"the reward changes by {amount:.3g} on average when {listed} {words}, which changes nothing"
            evidence = {"change": amount, "states": share, "spread": subject.spread}
            yield warning("not-invariant", message, hint.format(name=names[0]), evidence, culprit)
            return


_WORDS = {
    "shift": ("moves by a fixed amount", "use differences, such as `{name} - prev_{name}`, not where the world begins"),
    "flip": ("changes its sign", "use `.abs()` or squares of the quaternion's parts"),
    "zero": ("passes through zero", "wrap it to (-pi, pi], or use `torch.cos({name})`, so that both sides are alike"),
    "wrap": ("goes on from pi to -pi", "use `torch.cos({name})` and `torch.sin({name})`, or its absolute value"),
}


def _variants(invariance: Invariance, names: tuple[str, ...], rows: Inputs) -> list[Inputs]:
    """Inputs at which the reward should be the same."""
    if isinstance(invariance, Shift):
        amount = torch.as_tensor(invariance.amount, dtype=torch.float32)
        return [rows, {name: value + amount if _named(name, names) else value for name, value in rows.items()}]
    if isinstance(invariance, Flip):
        return [rows, {name: -value if _named(name, names) else value for name, value in rows.items()}]
    at_seam = ((_SEAM, _SEAM), (-_SEAM, -_SEAM), (-_SEAM, _SEAM))
    return [_placed(rows, names[0], *each) for each in at_seam]


def _at_zero(invariance: Invariance, names: tuple[str, ...], rows: Inputs) -> list[Inputs]:
    """Inputs next to each other at which a wrapped angle is zero."""
    return [_placed(rows, names[0], each, each) for each in (_STEP, -_STEP)] if isinstance(invariance, Wrap) else []


def _named(name: str, names: tuple[str, ...]) -> bool:
    return name.removeprefix("prev_") in names


def _placed(rows: Inputs, name: str, now: float, before: float) -> Inputs:
    values = {name: now, f"prev_{name}": before}
    return {
        each: torch.full_like(value, values.get(each, 0.0)) if each in values else value for each, value in rows.items()
    }
