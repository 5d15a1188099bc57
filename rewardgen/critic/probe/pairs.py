"""The task's pairs of situations: whether a reward tells better from worse, and what it does on the way between."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from rewardgen.critic.probe.findings import rejection, warning
from rewardgen.critic.probe.probed_reward import Inputs, ProbedReward, summed
from rewardgen.sim.situations import between, differing
from rewardgen.sim.variables import Pair, Setting
from rewardgen.store.records import Finding

POINTS = 33
"""Points of the way from worse to better, both ends among them."""
_ROWS = 48

_NOISE = 1e-3
"""Differences below this share of the reward's spread count as none."""
_MOSTLY_WRONG, _NEARLY_ALL_WRONG = 0.5, 0.95
_NOTABLE, _CLEAR = 0.02, 0.1
"""A reversed pair is told, and rejected, if the difference is this share of the reward's spread."""
_DROP = 0.5
"""A cliff: between neighbouring points the reward falls by this share of its range over the way."""
_CLIFF_ROWS = 0.3
_FLAT = 0.02
"""Saturated: what the second half of the way adds, relative to the first."""
_SATURATED_ROWS = 0.8
_SMALL_RANGE = 0.05


@dataclass(frozen=True)
class Way:
    """A reward along the way from a pair's worse situation to its better one.

    Attributes:
        pair: The pair.
        components: Each component on the way, as if standing still at each point, (POINTS, rows).
        progress: Each component that depends on the step before: half of what going along the way pays more than going
            back, (rows,). It is the whole difference of a potential.
    """

    pair: Pair
    components: Mapping[str, Tensor]
    progress: Mapping[str, Tensor]

    @cached_property
    def total(self) -> Tensor:
        """The reward on the way, (POINTS, rows)."""
        return summed(self.components)


def ways(subject: ProbedReward) -> list[Way]:
    """The ways between the pairs in which the reward reads what differs.

    Raises:
        RewardError: The reward fails there.
    """
    return [_way(subject, pair) for pair in subject.bank.facts.pairs if subject.concerns(differing(pair))]


def _way(subject: ProbedReward, pair: Pair) -> Way:
    rows = subject.rows(subject.bank.typical, _ROWS)
    shares = torch.linspace(0.0, 1.0, POINTS)
    placed = between(rows, pair, shares)
    found = subject.components_at(placed)
    components = {name: value.view(POINTS, -1) for name, value in found.items()}
    return Way(pair, components, _progress(subject, placed) if subject.moving else {})


def _progress(subject: ProbedReward, placed: Inputs) -> dict[str, Tensor]:
    rows = len(next(iter(placed.values()))) // POINTS

    def walk(now: slice, before: slice) -> dict[str, Tensor]:
        inputs = {name: value[before if name.startswith("prev_") else now] for name, value in placed.items()}
        return subject.components_at(inputs)

    later, earlier = slice(rows, None), slice(None, -rows)
    forth, back = walk(later, earlier), walk(earlier, later)
    return {name: (forth[name] - back[name]).view(POINTS - 1, rows).sum(0) / 2.0 for name in sorted(subject.moving)}


def check_pairs(subject: ProbedReward, found: list[Way]) -> Iterator[Finding]:
    """Find pairs that the reward has the wrong way round, cliffs on the way, and ways whose end brings nothing more.

    Args:
        subject: The reward.
        found: Its ways.
    """
    for way in found:
        reversed_pair = _order(subject, way)
        if reversed_pair:
            yield reversed_pair
            continue
        yield from _cliff(subject, way)
        if way.pair.graded:
            yield from _saturation(subject, way)


def _order(subject: ProbedReward, way: Way) -> Finding | None:
    standing = {name: value[-1] - value[0] for name, value in way.components.items() if name not in way.progress}
    # A difference of a potential pays for going, not for being there; only where nothing else does it decide.
    decides = standing if any(_share(each.abs(), subject) for each in standing.values()) else way.progress
    if not decides:
        return None
    gap = summed(decides)
    wrong, right = _share(-gap, subject), _share(gap, subject)
    typical = float(gap.median())
    if wrong < _MOSTLY_WRONG or typical > -_NOTABLE * subject.spread:
        return None
    name = min(decides, key=lambda each: float(decides[each].median()))
    message = (
        f"`{way.pair.name}`, but the reward is higher for the worse in {100 * wrong:.0f} % of the states tried,"
        f" by {-typical:.4g}"
    )
    hint = f"check the sign and the range of `{name}`: {_in_words(way.pair)}"
    evidence = {"wrong": wrong, "right": right, "difference": typical, "spread": subject.spread}
    certain = wrong >= _NEARLY_ALL_WRONG and typical < -_CLEAR * subject.spread
    return (rejection if certain else warning)("pair-reversed", message, hint, evidence, name)


def _share(gap: Tensor, subject: ProbedReward) -> float:
    """Share of the rows at which a difference is above noise."""
    return float((gap > _NOISE * subject.spread).float().mean())


def _in_words(pair: Pair) -> str:
    listed = [", ".join(f"{name} = {_short(each[name])}" for name in sorted(differing(pair))) for each in _ends(pair)]
    return f"more is due at {listed[0]} than at {listed[1]}"


def _ends(pair: Pair) -> tuple[Mapping[str, Setting], Mapping[str, Setting]]:
    return pair.better, pair.worse


def _short(value: Setting) -> str:
    return f"{value:g}" if isinstance(value, float | int) else f"({', '.join(f'{each:g}' for each in value)})"


def _cliff(subject: ProbedReward, way: Way) -> Iterator[Finding]:
    extent = way.total.amax(0) - way.total.amin(0)
    falls = way.total[:-1] - way.total[1:]
    large = (extent > _SMALL_RANGE * subject.spread) & (falls.amax(0) > _DROP * extent)
    share = float(large.float().mean())
    if share < _CLIFF_ROWS:
        return
    point = int(falls[:, large].median(1).values.argmax())
    name = max(
        way.components,
        key=lambda each: float((way.components[each][point] - way.components[each][point + 1])[large].median()),
    )
    before, after = (float(way.total[each, large].median()) for each in (point, point + 1))
    place = (point + 0.5) / (POINTS - 1)
    message = (
        f"on the way to `{way.pair.name}` the reward falls from {before:.4g} to {after:.4g}"
        f" at once, {100 * place:.0f} % of the way"
    )
    hint = f"let a later stage begin where the one before ends: `{name}` should not fall as the task goes on"
    evidence = {"before": before, "after": after, "at": place, "states": share}
    yield warning("cliff", message, hint, evidence, name)


def _saturation(subject: ProbedReward, way: Way) -> Iterator[Finding]:
    middle = POINTS // 2
    first, second = way.total[middle] - way.total[0], way.total[-1] - way.total[middle]
    flat = (first > _SMALL_RANGE * subject.spread) & (second.abs() < _FLAT * first)
    share = float(flat.float().mean())
    if share >= _SATURATED_ROWS:
        gained, more = float(first.median()), float(second.median())
        name = max(
            way.components, key=lambda each: float((way.components[each][middle] - way.components[each][0]).median())
        )
        message = (
            f"from half way on to `{way.pair.name}` there is nothing more to gain:"
            f" {gained:.4g} on the first half, {more:.2g} on the second"
        )
        hint = f"raise the bound or the temperature of `{name}`, so that better still pays"
        yield warning("saturated", message, hint, {"first": gained, "second": more, "states": share}, name)
