"""The task's pairs of situations: rewards that pay the worse one more, or fall at once on the way to the better one."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from rewardgen.critic.probe.probed_reward import ProbedReward, finding, summed
from rewardgen.sim.transitions import between, differing
from rewardgen.sim.variables import Pair, setting_text
from rewardgen.store.records import Finding

POINTS = 33
"""Points of the path from worse to better, both ends among them."""
_ROWS = 48

_NOISE = 1e-3
"""Differences below this share of the reward's spread count as none."""
_MOSTLY_WRONG, _NEARLY_ALL_WRONG = 0.5, 0.95
_NOTABLE, _CLEAR = 0.02, 0.1
"""Share of the reward's spread from which on a reversed pair is warned of, and rejected."""
_DROP = 0.5
"""A cliff: between neighbouring points the reward falls by this share of its range over the path."""
_CLIFF_ROWS = 0.3
_SMALL_RANGE = 0.05


@dataclass(frozen=True)
class Path:
    """A reward on the straight path from a pair's worse situation to its better one.

    Attributes:
        pair: The pair.
        components: Each component on the path, as if standing still at each point, (POINTS, rows).
        progress: For each component that depends on the step before, half the difference of its pay for going along
            the path and for going back, (rows,): the whole difference of a potential.
    """

    pair: Pair
    components: Mapping[str, Tensor]
    progress: Mapping[str, Tensor]

    @cached_property
    def total(self) -> Tensor:
        """The reward on the path, (POINTS, rows)."""
        return summed(self.components)


@functools.lru_cache(maxsize=1)
def paths(reward: ProbedReward) -> list[Path]:
    """Return the paths of the pairs whose difference the reward reads.

    Raises:
        RewardError: The reward fails on a path.
    """
    facts = reward.transitions.facts
    return [_path(reward, pair) for pair in facts.pairs if reward.concerns(differing(pair))]


def _path(reward: ProbedReward, pair: Pair) -> Path:
    placed = between(reward.rows(reward.transitions.typical, _ROWS), pair, torch.linspace(0.0, 1.0, POINTS))
    components = {name: value.view(POINTS, -1) for name, value in reward.components_at(placed).items()}
    if not reward.moving:
        return Path(pair, components, {})
    rows = next(iter(components.values())).shape[1]

    def walk(now: slice, before: slice) -> Mapping[str, Tensor]:
        inputs = {name: value[before if name.startswith("prev_") else now] for name, value in placed.items()}
        return reward.components_at(inputs)

    later, earlier = slice(rows, None), slice(None, -rows)
    forth, back = walk(later, earlier), walk(earlier, later)
    gains = {name: (forth[name] - back[name]).view(POINTS - 1, rows).sum(0) / 2.0 for name in sorted(reward.moving)}
    return Path(pair, components, gains)


def check_pairs(reward: ProbedReward) -> Iterator[Finding]:
    """Find pairs that the reward has the wrong way round, and cliffs on their paths: one per component."""
    cliffs: dict[str | None, Finding] = {}
    for path in paths(reward):
        if reversed_pair := _order(reward, path):
            yield reversed_pair
        elif cliff := _cliff(reward, path):
            cliffs.setdefault(cliff.component, cliff)
    yield from cliffs.values()


def _order(reward: ProbedReward, path: Path) -> Finding | None:
    def share(gap: Tensor) -> float:
        """Return the share of rows at which a difference is above noise."""
        return float((gap > _NOISE * reward.spread).float().mean())

    standing = {name: value[-1] - value[0] for name, value in path.components.items() if name not in path.progress}
    # A difference of a potential pays for going, not for being there; it decides only where nothing else does.
    gains = standing if any(share(gain.abs()) for gain in standing.values()) else path.progress
    if not gains:
        return None
    gap = summed(gains)
    wrong, right = share(-gap), share(gap)
    typical = float(gap.median())
    if wrong < _MOSTLY_WRONG or typical > -_NOTABLE * reward.spread:
        return None
    name = min(gains, key=lambda component: float(gains[component].median()))
    pair = path.pair
    message = (
        f"`{pair.name}`, but the reward is higher for the worse in {100 * wrong:.0f} % of the states tried,"
        f" by {-typical:.4g}"
    )
    better, worse = (
        ", ".join(f"{variable} = {setting_text(side[variable])}" for variable in sorted(differing(pair)))
        for side in (pair.better, pair.worse)
    )
    hint = f"check the sign and the range of `{name}`: more is due at {better} than at {worse}"
    evidence = {"wrong": wrong, "right": right, "difference": typical, "spread": reward.spread}
    certain = wrong >= _NEARLY_ALL_WRONG and typical < -_CLEAR * reward.spread
    return finding("pair-reversed", message, hint, evidence, name, severity="reject" if certain else "warn")


def _cliff(reward: ProbedReward, path: Path) -> Finding | None:
    extent = path.total.amax(0) - path.total.amin(0)
    falls = path.total[:-1] - path.total[1:]
    large = (extent > _SMALL_RANGE * reward.spread) & (falls.amax(0) > _DROP * extent)
    share = float(large.float().mean())
    if share < _CLIFF_ROWS:
        return None
    point = int(falls[:, large].median(1).values.argmax())

    def fall(name: str) -> float:
        value = path.components[name]
        return float((value[point] - value[point + 1])[large].median())

    name = max(path.components, key=fall)
    before, after = (float(path.total[at, large].median()) for at in (point, point + 1))
    place = (point + 0.5) / (POINTS - 1)
    message = (
        f"on the way to `{path.pair.name}` the reward falls from {before:.4g} to {after:.4g}"
        f" at once, {100 * place:.0f} % of the way"
    )
    hint = f"let a later stage begin where the one before ends: `{name}` should not fall as the task goes on"
    return finding("cliff", message, hint, {"before": before, "after": after, "at": place, "states": share}, name)
