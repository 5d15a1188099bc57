"""Farming: what a reward pays for going around a closed loop of states, which has brought nobody anywhere.

A component that reads `prev_` should take back on the way home what it paid on the way out, as differences of a
potential do. Its part that depends on the step before is what it pays beyond a step at which nothing changes.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from rewardgen.critic.probe.findings import rejection, warning
from rewardgen.critic.probe.pairs import POINTS
from rewardgen.critic.probe.probed_reward import Inputs, ProbedReward
from rewardgen.sim.situations import between, differing
from rewardgen.store.records import Finding

_EPISODES = 48
_SHORTEST = 4
_LONGEST = 40
_PAIR_ROWS = 16
_KEPT = 0.25
"""A loop pays if it leaves this share of all that was paid and taken on it."""
_NEARLY_ALL_KEPT = 0.8
_LOOPS = 0.8
_NEGLIGIBLE, _MAIN_SIGNAL = 0.01, 0.2
_SMALL = 1e-2


def check_loops(subject: ProbedReward) -> Iterator[Finding]:
    """Find components that pay for going there and back.

    Args:
        subject: The reward.

    Raises:
        RewardError: The reward fails on the way back.
    """
    if not subject.moving:
        return
    recorded = _gains(subject, _recorded_loops(subject))
    declared = [_gains(subject, each) for each in _pair_loops(subject)]
    for name in sorted(subject.moving):
        if _size(subject, name) < _NEGLIGIBLE:
            continue
        kept = [found for each in (recorded, *declared) if each and (found := _kept(each[name], subject.spread))]
        if kept:
            certain = any(_kept(each[name], subject.spread) >= _NEARLY_ALL_KEPT for each in declared)
            yield _finding(subject, name, max(kept), certain)


def _finding(subject: ProbedReward, name: str, kept: float, on_pair: bool) -> Finding:
    share = _size(subject, name)
    message = (
        f"component `{name}` pays for going there and back: over a loop of states that ends where it began"
        f" {100 * kept:.0f} % of what it pays is kept"
    )
    hint = "pay the difference of a potential, `after - before` without clamping, so that the way back costs the same"
    certain = on_pair and share > _MAIN_SIGNAL
    return (rejection if certain else warning)("loop-farming", message, hint, {"kept": kept, "share": share}, name)


def _size(subject: ProbedReward, name: str) -> float:
    """What a component pays for moving, as a share of the summed absolute components."""
    return subject.moving[name] / (sum(float(value.abs().mean()) for value in subject.components.values()) or 1.0)


class _Loop:
    """Steps of closed loops: inputs (n, ...), the same with nothing changing, and which loop each step is of, (n,)."""

    def __init__(self, states: Inputs, now: Tensor, before: Tensor, loop: Tensor, reads: tuple[str, ...]) -> None:
        self.inputs = {
            name: states[name.removeprefix("prev_")][before if name.startswith("prev_") else now] for name in reads
        }
        self.still = {name: states[name.removeprefix("prev_")][now] for name in reads}
        self.loop = loop


def _gains(subject: ProbedReward, loop: _Loop | None) -> dict[str, tuple[Tensor, Tensor]]:
    """Per component what each loop pays in sum, and the sum of the sizes of its steps' pay, both (loops,)."""
    if loop is None:
        return {}
    moving, still = subject.components_at(loop.inputs), subject.components_at(loop.still)
    zeros = torch.zeros(int(loop.loop.max()) + 1, dtype=torch.float64)

    def per_loop(values: Tensor) -> Tensor:
        return zeros.index_add(0, loop.loop, values.double())

    gains = {name: moving[name] - still[name] for name in moving}
    return {name: (per_loop(gain), per_loop(gain.abs())) for name, gain in gains.items()}


def _kept(gains: tuple[Tensor, Tensor], spread: float) -> float:
    """The share that loops keep, if nearly all that pay or take anything keep one; else 0."""
    total, size = gains
    active = size > _SMALL * spread
    if not bool(active.any()):
        return 0.0
    shares = total[active] / size[active]
    return float(shares.median()) if float((shares > _KEPT).double().mean()) >= _LOOPS else 0.0


def _recorded_loops(subject: ProbedReward) -> _Loop | None:
    """Rollouts forth, and the same states in reverse order back to the start."""
    bank = subject.bank
    lengths = torch.bincount(bank.episode)
    starts = lengths.cumsum(0) - lengths
    chosen = (lengths >= _SHORTEST).nonzero()[:, 0]
    if not len(chosen):
        return None
    chosen = chosen[torch.linspace(0, len(chosen) - 1, min(_EPISODES, len(chosen))).long()]
    now, before, loop = [], [], []
    for number, episode in enumerate(chosen.tolist()):
        rows = int(starts[episode]) + torch.arange(min(int(lengths[episode]), _LONGEST))
        now += [rows[1:], rows.flip(0)[1:]]
        before += [rows[:-1], rows.flip(0)[:-1]]
        loop.append(torch.full((2 * len(rows) - 2,), number))
    return _Loop(bank.inputs, torch.cat(now), torch.cat(before), torch.cat(loop), subject.reads)


def _pair_loops(subject: ProbedReward) -> Iterator[_Loop]:
    """The ways from the worse situation of a pair to its better one and back."""
    states = {name: value for name, value in subject.bank.inputs.items() if not name.startswith("prev_")}
    typical = subject.bank.typical.nonzero()[:, 0]
    chosen = typical[torch.linspace(0, len(typical) - 1, min(_PAIR_ROWS, len(typical))).long()]
    rows = {name: value[chosen] for name, value in states.items()}
    count = len(chosen)
    for pair in subject.bank.facts.pairs:
        if any(f"prev_{name}" in subject.reads for name in differing(pair)):
            placed = between(rows, pair, torch.linspace(0.0, 1.0, POINTS))
            order = torch.cat((torch.arange(POINTS), torch.arange(POINTS - 2, -1, -1)))
            steps = order[:, None] * count + torch.arange(count)
            loop = torch.arange(count).repeat(len(order) - 1)
            yield _Loop(placed, steps[1:].flatten(), steps[:-1].flatten(), loop, subject.reads)
