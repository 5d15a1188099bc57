"""The canonical form of rewards on recorded transitions: what is left when shaping, scale and shift are taken away.

After EPIC (Gleave et al. 2021, "Quantifying Differences in Reward Functions"), with a norm of its own for the level of
rewards where episodes can end early; STARC (Skalse et al. 2024, "STARC: A General Framework For Quantifying Differences
Between Reward Functions") names the family of such distances. A reward is R(s, a, s'): inputs `prev_<name>` are s,
`action` is a, the others are s'.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from rewardgen.reward.program import RewardError

Inputs = dict[str, Tensor]
Call = Callable[[Inputs], Mapping[str, Tensor]]

_SEED = 40_000_003
_TRANSITIONS = 8192
"""At most; more than a bank most often has, so that few states are between two steps and in none of its rows."""
_ENDED_SHARE = 0.1
"""Of all rows, those after the end of an episode: enough for a level to count, few enough to keep the rest in sight."""
_ROUNDING = 1e-6
"""What varies by less than this share of its largest value is constant; float32 holds 7 digits."""


@dataclass(frozen=True)
class Sample:
    """The transitions on which rewards are compared.

    Attributes:
        rows: Inputs of N transitions, (N, ...).
        draws: Inputs of M transitions that actions and next states are drawn from, (M, ...).
        discount: The task's.
        terminates: Whether episodes of the task can end before their time.
    """

    rows: Inputs
    draws: Inputs
    discount: float
    terminates: bool


def sample(inputs: Mapping[str, Tensor], discount: float, terminates: bool, draws: int = 16) -> Sample:
    """Draw the transitions to compare rewards on, the same for all rewards.

    Args:
        inputs: Of recorded transitions, (K, ...) each.
        discount: The task's.
        terminates: Whether episodes of the task can end before their time.
        draws: How many transitions stand for all actions and next states.
    """
    generator = torch.Generator().manual_seed(_SEED)
    many = len(next(iter(inputs.values())))
    picked, drawn = (torch.randperm(many, generator=generator)[:count] for count in (_TRANSITIONS, draws))
    return Sample(_rows(inputs, picked), _rows(inputs, drawn), discount, terminates)


def _rows(inputs: Mapping[str, Tensor], which: Tensor) -> Inputs:
    return {name: value[which] for name, value in inputs.items()}


def canonical(call: Call, ground: Sample) -> dict[str, Tensor]:
    """A reward without what potential shaping can add to it.

    C(R)(s, a, s') = R(s, a, s') + E[discount R(s', A, S') - R(s, A, S') - discount R(S, A, S')], with S, A and S' drawn
    from the sample. EPIC's form has no level, because a constant per step is the shaping by a constant potential. Where
    episodes can end early it is not: a bonus per step then pays for staying alive. There E[R(S, A, S')] is added again,
    and rows are that follow the end of an episode, when nothing is paid any more. A potential then changes nothing if
    it is zero on average; one that is not leaves an episode's end with a price, and that is a difference.

    Args:
        call: Computes components of (K,) from inputs of K transitions.
        ground: The transitions.

    Returns:
        Component to its canonical values, float64; they add up to those of the reward. (N,) or, where episodes can end
        early, with some more zeros.

    Raises:
        RewardError: The reward fails on one of the transitions, or does not always return the same components.
    """
    paid = call(dict(ground.rows))
    after, before = (_expected(call, ground, state) for state in ("", "prev_"))
    if not set(paid) == set(after) == set(before):
        raise RewardError("it does not always return the same components")
    return {name: _put_together(paid[name].double(), after[name], before[name], ground) for name in paid}


def _put_together(paid: Tensor, after: Tensor, before: Tensor, ground: Sample) -> Tensor:
    discount, level = ground.discount, before.mean()
    values = paid + discount * (after - level) - (before - level)
    largest = max(float(each.abs().max()) for each in (paid, after, before))
    if float(values.std()) <= _ROUNDING * largest:
        values = values.mean().expand_as(values)
    if not ground.terminates:
        return values - level
    ended = round(len(paid) * _ENDED_SHARE / (1.0 - _ENDED_SHARE))
    return torch.cat([values, values.new_zeros(ended)])


def _expected(call: Call, ground: Sample, state: str) -> dict[str, Tensor]:
    """E[R(s, A, S')] for the states before (`prev_`) or after the sample's transitions; component to (N,) float64."""
    rows, draws = (len(next(iter(each.values()))) for each in (ground.rows, ground.draws))
    jumps: Inputs = {}
    for name, value in ground.draws.items():
        base = name.removeprefix("prev_")
        if base != name and base in ground.draws:
            jumps[name] = ground.rows[state + base].repeat_interleave(draws, 0)
        else:
            jumps[name] = value.repeat((rows,) + (1,) * (value.dim() - 1))
    return {name: value.double().reshape(rows, draws).mean(1) for name, value in call(jumps).items()}


def direction(values: Tensor) -> Tensor | None:
    """Canonical values at mean zero and length one; None if they do not vary.

    Args:
        values: Canonical values, (N,).
    """
    centred = values - values.mean()
    varies = float(centred.square().mean().sqrt()) > _ROUNDING * float(values.abs().max())
    return centred / centred.norm() if varies else None


def distance(one: Tensor | None, other: Tensor | None) -> float | None:
    """Pearson distance sqrt((1 - correlation) / 2), 0 to 1; None if one of the rewards does not vary.

    Args:
        one: Direction of a reward.
        other: Direction of another.
    """
    # Half the length of the difference is the same, without the digits that 1 - correlation loses near 0.
    return None if one is None or other is None else min(1.0, 0.5 * float((one - other).norm()))
