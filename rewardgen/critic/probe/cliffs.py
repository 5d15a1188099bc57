"""Cliffs on straight lines between recorded states: where pay grows, falls at once, and goes on growing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from rewardgen.critic.probe.probed_reward import Inputs, ProbedReward, evenly, finding
from rewardgen.reward.program import RewardError
from rewardgen.sim.transitions import TransitionSet
from rewardgen.sim.variables import Flip, Wrap, variables_of
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
"""Of the component's usual range over the transitions."""
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
        """Inputs on the lines.

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


def check_cliffs(reward: ProbedReward) -> Iterator[Finding]:
    """Find components that fall at once where they otherwise grow, so that a policy that climbs them is turned back.

    A bonus and a penalty are flat beside their step, and a gate on one side of it: none of them is meant. A reward
    that fails between recorded states is left alone: nobody knows whether the task ever gets there.
    """
    lines = _lines(reward)
    if not len(lines):
        return
    shares, which = torch.linspace(0.0, 1.0, _POINTS), torch.arange(len(lines))
    try:
        found = reward.components_at(lines.at(shares.repeat_interleave(len(lines)), which.repeat(_POINTS)))
        for name, value in found.items():
            yield from _check_component(reward, lines, name, value.view(_POINTS, -1))
    except RewardError:
        return


def _check_component(reward: ProbedReward, lines: Lines, name: str, values: Tensor) -> Iterator[Finding]:
    """The finding on one component, with its values at evenly spaced points of all lines, (_POINTS, n)."""
    usual = _usual(reward.components[name][reward.transitions.reachable])
    steps = values[1:] - values[:-1]
    # The interval with the largest change of those that have one on both sides.
    place = steps[1:-1].abs().argmax(0) + 1
    before, change, after = (steps.gather(0, (place + beside).unsqueeze(0))[0] for beside in (-1, 0, 1))
    rows = (change.abs() > max(_HIGH * usual, 1e-6)).nonzero()[:, 0]
    if len(rows) < _FEWEST:
        return
    low, high = _refined(reward, lines, name, place[rows], rows)
    real = (high - low).abs() > (_KEPT * change[rows].abs()).clamp(min=_HIGH * usual)
    sign = change.sign()
    against = ((-sign * before > _SLOPE * usual) & (-sign * after > _SLOPE * usual))[rows] & real
    if int(real.sum()) < _FEWEST or int(against.sum()) < _AGREEING * int(real.sum()):
        return
    upper, lower = torch.maximum(low, high)[against], torch.minimum(low, high)[against]
    typical = int((upper - lower).argsort()[len(upper) // 2])
    top, bottom = float(upper[typical]), float(lower[typical])
    message = (
        f"between recorded states component `{name}` grows, falls at once from {top:.4g} to {bottom:.4g}, and goes on"
        f" growing; over all of them it usually varies by {usual:.4g}"
    )
    hint = f"let each stage of `{name}` begin where the one before ends, or smooth the step"
    evidence = {"before": top, "after": bottom, "usual": usual, "lines": int(against.sum())}
    yield finding("cliff", message, hint, evidence, name)


def _refined(reward: ProbedReward, lines: Lines, name: str, place: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """A component on both sides of its largest change within an interval of each line, (n,) and (n,)."""

    def value(shares: Tensor) -> Tensor:
        return reward.components_at(lines.at(shares, rows))[name]

    low, high = place / (_POINTS - 1), (place + 1) / (_POINTS - 1)
    at_low, at_high = value(low), value(high)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        at_middle = value(middle)
        first = (at_middle - at_low).abs() > (at_high - at_middle).abs()
        low, at_low = torch.where(first, low, middle), torch.where(first, at_low, at_middle)
        high, at_high = torch.where(first, middle, high), torch.where(first, at_middle, at_high)
    return at_low, at_high


def _lines(reward: ProbedReward) -> Lines:
    starts, ends = _ends(reward.transitions)
    for value in reward.inputs.values():
        if bool((value == value.round()).all()):
            same = (value[starts] == value[ends]).flatten(1) if value.dim() > 1 else value[starts] == value[ends]
            kept = same.all(-1) if same.dim() > 1 else same
            starts, ends = starts[kept], ends[kept]
    wrapped, flipped = _declared(reward, Wrap), _declared(reward, Flip)
    start = {name: value[starts] for name, value in reward.inputs.items()}
    change = {name: value[ends] - start[name] for name, value in reward.inputs.items()}
    return Lines(start, change | {name: _turned(change[name]) for name in wrapped}, wrapped, flipped)


def _ends(transitions: TransitionSet) -> tuple[Tensor, Tensor]:
    """Rows some steps apart in one episode, evenly chosen from all that can be reached."""
    episode, step, reachable = transitions.episode, transitions.step, transitions.reachable
    starts, ends = [], []
    for stride in _STRIDES:
        later = torch.arange(stride, len(transitions))
        earlier = later - stride
        together = (episode[later] == episode[earlier]) & (step[later] - step[earlier] == stride)
        chosen = evenly(earlier[together & reachable[later] & reachable[earlier]], _LINES)
        starts.append(chosen)
        ends.append(chosen + stride)
    return torch.cat(starts), torch.cat(ends)


def _declared(reward: ProbedReward, kind: type[Wrap] | type[Flip]) -> frozenset[str]:
    """The inputs that are angles at a seam, or quaternions."""
    invariances = reward.transitions.facts.invariances
    names = {name for each in invariances if isinstance(each, kind) for name in variables_of(each)}
    return frozenset(name for name in reward.reads if name.removeprefix("prev_") in names)


def _turned(angle: Tensor) -> Tensor:
    """An angle in [-pi, pi)."""
    return torch.remainder(angle + math.pi, 2.0 * math.pi) - math.pi


def _usual(value: Tensor) -> float:
    """The range of a component but for its rarest values; all of it if it hardly ever varies."""
    low, high = torch.quantile(value, torch.tensor((0.05, 0.95))).tolist()
    return high - low or float(value.max() - value.min())
