"""Trajectory preference: a reward must rank recorded episodes as the task's fitness does, or it is not trained.

A rejection needs evidence: enough wrong pairs whose better episode succeeds, and policies that differ beyond noise.
With less it is a warning: the order of two failures does not show the way to success. It is a warning, too, where the
best reward so far would be rejected: see `contradicted`.

After CARD's trajectory preference evaluation (Sun et al. 2024, "A Large Language Model-Driven Reward Code Design
Framework via Dynamic Feedback"), with pairs clearly apart in fitness where success is rare.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import fmean, variance
from typing import NamedTuple

from rewardgen.store.records import CandidateRecord, Finding

RIGHT_SHARE = 0.8
"""Least share of pairs ranked right."""
_CLEARLY = 0.3
"""Share of the range of fitness by which two episodes must differ to count."""
_FEWEST_PAIRS = 10
_VETO_PAIRS, _VETO_POLICIES = 20, 3
"""Fewest pairs of a success and a worse episode, and fewest pairs of policies apart beyond noise, for a rejection."""
_NOISE = 2.0
"""Standard errors of a difference of means that may be noise."""
_MOST_FILES = 16
_SAME = 1e-6
"""Relative difference of returns below which a pair is a tie, and half right."""


class RecordedEpisode(NamedTuple):
    """One recorded episode of a policy, such as `g00-k1 seed 0`, measured without the reward."""

    name: str
    fitness: float
    success: bool
    steps: int


def kept_files(records: Sequence[CandidateRecord]) -> dict[str, tuple[RecordedEpisode, ...]]:
    """Return the episodes to rank by their file of inputs, from at most `_MOST_FILES` slices, evenly over fitness."""
    slices = [run for record in records if record.result for run in record.result.slices if run.episodes_file]
    ordered = sorted(slices, key=lambda run: run.final_fitness or 0.0)
    last = len(ordered) - 1
    count = min(len(ordered), _MOST_FILES)
    chosen = [ordered[round(number * last / max(count - 1, 1))] for number in range(count)]
    return {
        run.episodes_file or "": tuple(
            RecordedEpisode(f"{run.candidate_id} seed {run.seed}", kept.fitness, kept.success, kept.steps)
            for kept in run.kept
        )
        for run in chosen
    }


def ordered_pairs(episodes: Sequence[RecordedEpisode]) -> list[tuple[int, int]]:
    """Return the pairs, (better, worse), that a sound reward should rank as fitness does; empty if they are too few.

    A success and a failure are a pair if the success has the higher fitness; others if their fitness is clearly apart.
    """
    values = [episode.fitness for episode in episodes]
    apart = _CLEARLY * (max(values) - min(values)) if values else 0.0
    pairs = []
    for first, second in combinations(range(len(episodes)), 2):
        better, worse = (first, second) if values[first] > values[second] else (second, first)
        gap = values[better] - values[worse]
        decided = episodes[better].success and not episodes[worse].success
        contradicts = episodes[worse].success and not episodes[better].success
        if gap > 0 and not contradicts and (decided or gap >= apart):
            pairs.append((better, worse))
    return pairs if len(pairs) >= _FEWEST_PAIRS else []


def check_preference(sums: Mapping[str, Sequence[float]], episodes: Sequence[RecordedEpisode]) -> tuple[Finding, ...]:
    """Compare a reward's ranking of episodes, from the sums of its components over them, with that by fitness.

    Returns:
        A rejection if the returns order fewer than `RIGHT_SHARE` of the pairs right, of all and of those whose better
        episode succeeds. A warning if only failures are in a wrong order, or pairs or clearly different policies are
        too few. Nothing if enough pairs are right. The share by reward per
        step is added as evidence and decides nothing: where episodes end early, a short one is often better per step.
        On the hopper, Gymnasium's reward ranks all pairs right by return, and 43 % per step.
    """
    pairs = ordered_pairs(episodes)
    totals = [sum(values) for values in zip(*sums.values(), strict=True)]
    share = _right_share(totals, pairs)
    if not pairs or share >= RIGHT_SHARE:
        return ()
    better, worse = max(pairs, key=lambda pair: totals[pair[1]] - totals[pair[0]])
    message = (
        f"its return ranks {100 * share:.0f} % of {len(pairs)} pairs of recorded episodes as fitness does, "
        f"{100 * RIGHT_SHARE:.0f} % are needed; the worst: {_described(better, episodes, sums)} is ranked below "
        f"{_described(worse, episodes, sums)}"
    )
    per_step = [total / episode.steps for total, episode in zip(totals, episodes, strict=True)]
    shares = {"right_in_total": share, "right_per_step": _right_share(per_step, pairs)}
    decisive = [pair for pair in pairs if episodes[pair[0]].success]
    against = _doubt(_right_share(totals, decisive), len(decisive), _differing(episodes))
    if against:
        message += f"; that is too little to reject it: {against}"
    finding = Finding(
        gate="preference",
        detector="ranks-against-fitness",
        severity="warn" if against else "reject",
        message=message,
        hint="find the component that pays the worse episode more, and bound, gate or reweight it",
        component=max(sums, key=lambda name: sums[name][worse] - sums[name][better]),
        evidence={**shares, "pairs": len(pairs), "better_return": totals[better], "worse_return": totals[worse]},
    )
    return (finding,)


def _doubt(share: float, pairs: int, policy_pairs: int) -> str:
    """Return the reason why the evidence is too weak for a rejection; empty if it is not."""
    if not pairs:
        return "none of the episodes succeeds"
    if share >= RIGHT_SHARE:
        return f"of the {pairs} pairs whose better episode succeeds, {100 * share:.0f} % are right"
    if pairs < _VETO_PAIRS:
        return f"in {pairs} of the pairs only does the better episode succeed"
    return f"{policy_pairs} pairs of policies differ beyond noise" if policy_pairs < _VETO_POLICIES else ""


def _differing(episodes: Sequence[RecordedEpisode]) -> int:
    """Count the pairs of policies whose mean fitness differs beyond noise."""
    fitness: dict[str, list[float]] = {}
    for episode in episodes:
        fitness.setdefault(episode.name, []).append(episode.fitness)
    means = [(fmean(values), variance(values) / len(values)) for values in fitness.values() if len(values) > 1]
    return sum(abs(one - other) > _NOISE * math.sqrt(a + b) for (one, a), (other, b) in combinations(means, 2))


def contradicted(finding: Finding) -> Finding:
    """Make a rejection by the ranking a warning, because it would reject the reward that trained best so far too."""
    if finding.gate != "preference" or finding.severity != "reject":
        return finding
    message = f"{finding.message}; the best reward so far ranks them wrong as well, so this rejects nothing"
    return finding.model_copy(update={"severity": "warn", "message": message})


def not_ranked() -> Finding:
    """Warn that a reward's returns could not be computed."""
    return Finding(
        gate="preference",
        detector="not-ranked",
        severity="warn",
        message="its returns on recorded episodes could not be computed, so its ranking of them is unknown",
        hint="if every candidate has this warning, a file of episodes in the run's `policies/search` is damaged",
    )


def _right_share(values: Sequence[float], pairs: Sequence[tuple[int, int]]) -> float:
    def rightness(better: float, worse: float) -> float:
        tie = abs(better - worse) <= _SAME * max(abs(better), abs(worse))
        return 0.5 if tie else float(better > worse)

    return sum(rightness(values[better], values[worse]) for better, worse in pairs) / max(len(pairs), 1)


def _described(index: int, episodes: Sequence[RecordedEpisode], sums: Mapping[str, Sequence[float]]) -> str:
    episode = episodes[index]
    parts = ", ".join(f"{name} {values[index]:.4g}" for name, values in sums.items())
    outcome = "success" if episode.success else "no success"
    return f"the episode of {episode.name} (fitness {episode.fitness:.3g}, {outcome}, {episode.steps} steps; {parts})"
