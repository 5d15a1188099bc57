"""Farming: pay for going around a closed loop of states.

A component that reads `prev_` should take back on the way home its pay on the way out, as differences of a potential
do. Its part that depends on the step before is its pay beyond a step at which nothing changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from rewardgen.critic.probe.pairs import POINTS
from rewardgen.critic.probe.probed_reward import Inputs, ProbedReward, evenly, finding
from rewardgen.sim.transitions import between, differing
from rewardgen.store.records import Finding

_EPISODES = 48
_SHORTEST = 4
_LONGEST = 40
_PAIR_ROWS = 16
_KEPT = 0.25
"""A loop pays if this share of all pay and cost on it is left."""
_NEARLY_ALL_KEPT = 0.8
_LOOPS = 0.8
_NEGLIGIBLE, _MAIN_SIGNAL = 0.01, 0.2
_SMALL = 1e-2


class Loops(NamedTuple):
    """Steps of closed loops.

    Attributes:
        states: Variables without `prev_`, (m, ...).
        now: Row of each step's state, (n,).
        before: Row of the state before it, (n,).
        loop: Index of the loop of each step, (n,).
    """

    states: Inputs
    now: Tensor
    before: Tensor
    loop: Tensor


def check_loops(reward: ProbedReward) -> Iterator[Finding]:
    """Find components that pay for going there and back.

    Raises:
        RewardError: The reward fails on the way back.
    """
    if not reward.moving:
        return
    recorded = [_shares_kept(reward, loops) for loops in _recorded_loops(reward)]
    declared = [_shares_kept(reward, loops) for loops in _pair_loops(reward)]
    everything = sum(float(value.abs().mean()) for value in reward.components.values()) or 1.0
    for name in sorted(reward.moving):
        share = reward.moving[name] / everything
        kept = max((shares[name] for shares in (*recorded, *declared)), default=0.0)
        if share < _NEGLIGIBLE or not kept:
            continue
        message = (
            f"component `{name}` pays for going there and back: over a loop of states that ends where it began"
            f" {100 * kept:.0f} % of its pay is kept"
        )
        hint = (
            "pay the difference of a potential, `after - before` without clamping, so that the way back costs the same"
        )
        certain = share > _MAIN_SIGNAL and any(shares[name] >= _NEARLY_ALL_KEPT for shares in declared)
        evidence = {"kept": kept, "share": share}
        yield finding("loop-farming", message, hint, evidence, name, severity="reject" if certain else "warn")


def _shares_kept(reward: ProbedReward, loops: Loops) -> dict[str, float]:
    """Return per component the share of its pay that loops keep; 0 unless nearly all loops with any pay keep some."""
    states = {name: loops.states[name.removeprefix("prev_")] for name in reward.reads}
    steps = {name: value[loops.before if name.startswith("prev_") else loops.now] for name, value in states.items()}
    moving = reward.components_at(steps)
    still = reward.components_at({name: value[loops.now] for name, value in states.items()})
    zeros = torch.zeros(int(loops.loop.max()) + 1, dtype=torch.float64)
    kept = {}
    for name in moving:
        gain = (moving[name] - still[name]).double()
        total, size = (zeros.index_add(0, loops.loop, values) for values in (gain, gain.abs()))
        active = size > _SMALL * reward.spread
        shares = total[active] / size[active]
        keeps = bool(active.any()) and float((shares > _KEPT).double().mean()) >= _LOOPS
        kept[name] = float(shares.median()) if keeps else 0.0
    return kept


def _recorded_loops(reward: ProbedReward) -> Iterator[Loops]:
    """Yield recorded episodes forth, and the same states in reverse order back to the start."""
    transitions = reward.transitions
    lengths = torch.bincount(transitions.episode)
    starts = lengths.cumsum(0) - lengths
    chosen = evenly((lengths >= _SHORTEST).nonzero()[:, 0], _EPISODES)
    now, before, loop = [], [], []
    for number, episode in enumerate(chosen.tolist()):
        rows = int(starts[episode]) + torch.arange(min(int(lengths[episode]), _LONGEST))
        now += [rows[1:], rows.flip(0)[1:]]
        before += [rows[:-1], rows.flip(0)[:-1]]
        loop.append(torch.full((2 * len(rows) - 2,), number))
    if loop:
        yield Loops(transitions.inputs, torch.cat(now), torch.cat(before), torch.cat(loop))


def _pair_loops(reward: ProbedReward) -> Iterator[Loops]:
    """Yield the paths from the worse situation of each pair to its better one and back."""
    transitions = reward.transitions
    chosen = evenly(transitions.typical.nonzero()[:, 0], _PAIR_ROWS)
    rows = {name: value[chosen] for name, value in transitions.inputs.items() if not name.startswith("prev_")}
    count = len(chosen)
    for pair in transitions.facts.pairs:
        if any(f"prev_{name}" in reward.reads for name in differing(pair)):
            placed = between(rows, pair, torch.linspace(0.0, 1.0, POINTS))
            order = torch.cat((torch.arange(POINTS), torch.arange(POINTS - 2, -1, -1)))
            steps = order[:, None] * count + torch.arange(count)
            loop = torch.arange(count).repeat(len(order) - 1)
            yield Loops(placed, steps[1:].flatten(), steps[:-1].flatten(), loop)
