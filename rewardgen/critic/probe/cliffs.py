"""Cliffs on straight lines between recorded states: where pay grows, falls at once, and goes on growing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from rewardgen.critic.probe.findings import warning
from rewardgen.critic.probe.probed_reward import Inputs, NamesError, ProbedReward
from rewardgen.reward.program import RewardError
from rewardgen.sim.transitions import TransitionSet
from rewardgen.sim.variables import Flip, Invariance, Wrap, variables_of
from rewardgen.store.records import Finding

_STRIDES = (1, 5)
"""Steps between the two states of a line."""
_LINES = 600
"""Of each stride, at the most."""
_POINTS = 9
"""Of a line, both ends among them."""
_HALVINGS = 12
_KEPT = 0.7
"""A discontinuity keeps this share of its height when its place is halved again and again; a steep slope does not."""
_HIGH = 0.25
"""Of the component's usual range over the bank."""
_SLOPE = 1e-4
"""Of that range: what grows less from point to point is flat."""
_FEWEST, _AGREEING = 5, 0.8
"""Lines with a discontinuity, and the share of them on which it goes against the slopes on both sides."""


@dataclass(frozen=True)
class Lines:
    """Lines between recorded states that share everything that only takes whole values.

    Attributes:
        start: Inputs at the one end, (n, ...).
        change: What the other end has more, the short way round for angles that are wrapped, (n, ...).
        wrapped: Names of those angles.
        flipped: Names of the quaternions.
    """

    start: Inputs
    change: Inputs
    wrapped: frozenset[str]
    flipped: frozenset[str]

    def __len__(self) -> int:
        return len(next(iter(self.start.values())))

    def at(self, shares: Tensor, which: Tensor) -> Inputs:
        """Inputs on the way.

        Args:
            shares: How far, (m,): 0 at the start, 1 at the end.
            which: Of which line each point is, (m,).
        """
        return {name: self._placed(name, shares, which) for name in self.start}

    def _placed(self, name: str, shares: Tensor, which: Tensor) -> Tensor:
        start, change = self.start[name][which], self.change[name][which]
        value = start + shares.view(-1, *[1] * (start.dim() - 1)) * change
        if name in self.wrapped:
            return _turned(value)
        return value / value.norm(dim=-1, keepdim=True).clamp(min=1e-6) if name in self.flipped else value


@dataclass(frozen=True)
class Profile:
    """A component on lines.

    Attributes:
        values: At evenly spaced points, (_POINTS, n).
        usual: Its usual range over the bank.
    """

    values: Tensor
    usual: float

    @cached_property
    def place(self) -> Tensor:
        """The interval with the largest change of those that have one on both sides, (n,)."""
        return self.steps[1:-1].abs().argmax(0) + 1

    @cached_property
    def steps(self) -> Tensor:
        """What it changes by from point to point, (_POINTS - 1, n)."""
        return self.values[1:] - self.values[:-1]

    def step(self, beside: int = 0) -> Tensor:
        """The change at the place, or at intervals beside it, (n,)."""
        return self.steps.gather(0, (self.place + beside).unsqueeze(0))[0]

    @property
    def against(self) -> Tensor:
        """Whether the change goes against those on both sides of it, (n,) bool."""
        least, sign = _SLOPE * self.usual, self.step().sign()
        return (-sign * self.step(-1) > least) & (-sign * self.step(1) > least)


def check_cliffs(subject: ProbedReward) -> Iterator[Finding]:
    """Find components that fall at once where they otherwise grow, so that a policy that climbs them is turned back.

    A bonus and a penalty are flat beside their step, and a gate on one side of it: none of them is meant. A reward
    that fails between recorded states is left alone: nobody knows whether the task ever gets there.

    Args:
        subject: The reward.

    Raises:
        NamesError: It returns other components for so many states.
    """
    lines = _lines(subject)
    if not len(lines):
        return
    try:
        yield from _found(subject, lines)
    except NamesError:
        raise
    except RewardError:
        return


def _found(subject: ProbedReward, lines: Lines) -> Iterator[Finding]:
    shares, which = torch.linspace(0.0, 1.0, _POINTS), torch.arange(len(lines))
    found = subject.components_at(lines.at(shares.repeat_interleave(len(lines)), which.repeat(_POINTS)))
    for name, value in found.items():
        profile = Profile(value.view(_POINTS, -1), _usual(subject.components[name][subject.bank.reachable]))
        high = profile.step().abs() > max(_HIGH * profile.usual, 1e-6)
        if int(high.sum()) >= _FEWEST:
            yield from _judged(subject, lines, name, profile, high.nonzero()[:, 0])


def _judged(subject: ProbedReward, lines: Lines, name: str, profile: Profile, rows: Tensor) -> Iterator[Finding]:
    """The finding on one component, from the lines on which it changes by much from one point to the next."""
    before, after = _refined(subject, lines, name, profile.place[rows], rows)
    real = (after - before).abs() > (_KEPT * profile.step()[rows].abs()).clamp(min=_HIGH * profile.usual)
    count, against = int(real.sum()), profile.against[rows] & real
    if count < _FEWEST or int(against.sum()) < _AGREEING * count:
        return
    upper, lower = torch.maximum(before, after)[against], torch.minimum(before, after)[against]
    typical = int((upper - lower).argsort()[len(upper) // 2])
    high, low = float(upper[typical]), float(lower[typical])
    message = (
        f"between recorded states component `{name}` grows, falls at once from {high:.4g} to {low:.4g}, and goes on"
        f" growing; over all of them it usually varies by {profile.usual:.4g}"
    )
    hint = f"let each stage of `{name}` begin where the one before ends, or smooth the step"
    evidence = {"before": high, "after": low, "usual": profile.usual, "lines": int(against.sum())}
    yield warning("cliff", message, hint, evidence, name)


def _refined(subject: ProbedReward, lines: Lines, name: str, place: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """A component on both sides of its largest change within an interval of each line, (n,) and (n,)."""

    def value(shares: Tensor) -> Tensor:
        return subject.components_at(lines.at(shares, rows))[name]

    low, high = place / (_POINTS - 1), (place + 1) / (_POINTS - 1)
    at_low, at_high = value(low), value(high)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        at_middle = value(middle)
        first = (at_middle - at_low).abs() > (at_high - at_middle).abs()
        low, at_low = torch.where(first, low, middle), torch.where(first, at_low, at_middle)
        high, at_high = torch.where(first, middle, high), torch.where(first, at_middle, at_high)
    return at_low, at_high


def _lines(subject: ProbedReward) -> Lines:
    bank, reads = subject.bank, {name: subject.bank.inputs[name] for name in subject.reads}
    starts, ends = _ends(bank)
    whole = [name for name, value in reads.items() if bool((value == value.round()).all())]
    for name in whole:
        same = (reads[name][starts] == reads[name][ends]).flatten(1 if reads[name].dim() > 1 else 0)
        kept = same.all(-1) if same.dim() > 1 else same
        starts, ends = starts[kept], ends[kept]
    wrapped = _named(reads, bank.facts.invariances, Wrap)
    change = {name: value[ends] - value[starts] for name, value in reads.items()}
    change = {name: _turned(value) if name in wrapped else value for name, value in change.items()}
    return Lines(_rows(reads, starts), change, wrapped, _named(reads, bank.facts.invariances, Flip))


def _ends(bank: TransitionSet) -> tuple[Tensor, Tensor]:
    """Rows some steps apart in one episode, evenly chosen from all that can be reached."""
    pairs: list[Tensor] = []
    for stride in _STRIDES:
        later = torch.arange(stride, len(bank))
        earlier = later - stride
        together = (bank.episode[later] == bank.episode[earlier]) & bank.reachable[later] & bank.reachable[earlier]
        together &= bank.step[later] - bank.step[earlier] == stride
        found = earlier[together]
        chosen = torch.linspace(0, max(len(found) - 1, 0), min(_LINES, len(found))).long()
        pairs.append(torch.stack((found[chosen], found[chosen] + stride)))
    starts, ends = torch.cat(pairs, dim=1)
    return starts, ends


def _named(
    reads: Mapping[str, Tensor], declared: tuple[Invariance, ...], kind: type[Wrap] | type[Flip]
) -> frozenset[str]:
    names = {name for each in declared if isinstance(each, kind) for name in variables_of(each)}
    return frozenset(name for name in reads if name.removeprefix("prev_") in names)


def _rows(inputs: Mapping[str, Tensor], rows: Tensor) -> Inputs:
    return {name: value[rows] for name, value in inputs.items()}


def _turned(angle: Tensor) -> Tensor:
    """An angle in [-pi, pi)."""
    return torch.remainder(angle + math.pi, 2.0 * math.pi) - math.pi


def _usual(value: Tensor) -> float:
    """The range of a component but for its rarest values; all of it if it hardly ever varies."""
    low, high = torch.quantile(value, torch.tensor((0.05, 0.95))).tolist()
    return high - low or float(value.max() - value.min())
