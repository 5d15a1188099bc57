"""Trajectory preference: a reward must rank recorded episodes as the task's fitness does, or it is not trained.

To reject a reward takes evidence: enough pairs whose better episode succeeds, ranked wrong, and policies that differ
beyond noise. With less it is a warning: which of two failures is less bad says nothing of what leads to success.

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
"""Share of the pairs that must rank right."""
_CLEARLY = 0.3
"""Share of the range of fitness by which two episodes must differ to count."""
_FEWEST_PAIRS = 10
_VETO_PAIRS, _VETO_POLICIES = 20, 3
"""Pairs of a success and a worse episode, and of policies that differ beyond noise: so many it takes to reject."""
_NOISE = 2.0
"""Standard errors of a difference of means that may be noise."""
_MOST_FILES = 16
_SAME = 1e-6
"""Returns that differ by less, relative to their size, rank neither way; such a pair is half right."""


class RecordedEpisode(NamedTuple):
    """One recorded episode, as the orchestrator knows it.

    Attributes:
        name: What to call it, such as `g00-k1 seed 0`.
        fitness: The task's own number.
        success: The task's own yes or no.
        steps: Control steps.
    """

    name: str
    fitness: float
    success: bool
    steps: int


class EpisodeFile(NamedTuple):
    """The kept episodes of one slice.

    Attributes:
        name: Of the file that holds what rewards read.
        episodes: In the file's order.
    """

    name: str
    episodes: tuple[RecordedEpisode, ...]


def kept_files(records: Sequence[CandidateRecord]) -> list[EpisodeFile]:
    """Return the episodes to rank by: of at most `_MOST_FILES` slices, evenly spread over fitness.

    Args:
        records: Candidates that were trained.
    """
    slices = [each for record in records if record.result for each in record.result.slices if each.episodes_file]
    ordered = sorted(slices, key=lambda each: each.final_fitness or 0.0)
    last = len(ordered) - 1
    count = min(len(ordered), _MOST_FILES)
    chosen = [ordered[round(number * last / max(count - 1, 1))] for number in range(count)]
    return [
        EpisodeFile(
            each.episodes_file or "",
            tuple(
                RecordedEpisode(f"{each.candidate_id} seed {each.seed}", kept.fitness, kept.success, kept.steps)
                for kept in each.kept
            ),
        )
        for each in chosen
    ]


def ordered_pairs(episodes: Sequence[RecordedEpisode]) -> list[tuple[int, int]]:
    """Pairs of episodes, better before worse, that any sound reward should rank like that.

    A success stands against a failure if its fitness is also higher. Other pairs count if they are clearly apart.

    Args:
        episodes: All episodes.

    Returns:
        Indices (better, worse); empty if there are too few to judge by.
    """
    values = [each.fitness for each in episodes]
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
    """Compare a reward's ranking of episodes with that by fitness.

    Args:
        sums: Component name to its sum over each episode.
        episodes: The episodes.

    Returns:
        A rejection if its returns rank less than `RIGHT_SHARE` of the pairs right, and of those with a success too; a
        warning if it is only failures that they rank wrong, or the episodes are too few, or of policies that are not
        surely better or worse than each other. Rewards per step are told beside that, but decide nothing: where
        episodes end early, a short one is often the better per step. On the hopper, Gymnasium's own reward ranks all
        pairs right by its return, and 43 % per step.
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
    per_step = [total / each.steps for total, each in zip(totals, episodes, strict=True)]
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


def _doubt(share: float, pairs: int, policies: int) -> str:
    """Return the reason against rejecting a reward by its share of right pairs with a success; empty if none."""
    if not pairs:
        return "none of the episodes succeeds"
    if share >= RIGHT_SHARE:
        return f"of the {pairs} pairs whose better episode succeeds, {100 * share:.0f} % are right"
    if pairs < _VETO_PAIRS:
        return f"in {pairs} of the pairs only does the better episode succeed"
    return f"{policies} pairs of policies differ beyond noise" if policies < _VETO_POLICIES else ""


def _differing(episodes: Sequence[RecordedEpisode]) -> int:
    """Pairs of policies whose mean fitness differs by more than their episodes scatter."""
    fitness: dict[str, list[float]] = {}
    for each in episodes:
        fitness.setdefault(each.name, []).append(each.fitness)
    means = [(fmean(each), variance(each) / len(each)) for each in fitness.values() if len(each) > 1]
    return sum(abs(one - other) > _NOISE * math.sqrt(a + b) for (one, a), (other, b) in combinations(means, 2))


def contradicted(finding: Finding) -> Finding:
    """Make a rejection by the ranking a warning, because it would reject the reward that trained best so far too."""
    if finding.gate != "preference" or finding.severity != "reject":
        return finding
    message = f"{finding.message}; the best reward so far ranks them wrong as well, so this rejects nothing"
    return finding.model_copy(update={"severity": "warn", "message": message})


def not_ranked() -> Finding:
    """Said of a reward for which no returns could be computed."""
    return Finding(
        gate="preference",
        detector="not-ranked",
        severity="warn",
        message="its returns on recorded episodes could not be computed, so its ranking of them is unknown",
        hint="if this is said of every candidate, a file of episodes in the run's `policies/search` is damaged",
    )


def _right_share(values: Sequence[float], pairs: Sequence[tuple[int, int]]) -> float:
    def rightness(better: float, worse: float) -> float:
        tie = abs(better - worse) <= _SAME * max(abs(better), abs(worse))
        return 0.5 if tie else float(better > worse)

    return sum(rightness(values[better], values[worse]) for better, worse in pairs) / max(len(pairs), 1)


def _described(index: int, episodes: Sequence[RecordedEpisode], sums: Mapping[str, Sequence[float]]) -> str:
    each = episodes[index]
    parts = ", ".join(f"{name} {values[index]:.4g}" for name, values in sums.items())
    outcome = "success" if each.success else "no success"
    return f"the episode of {each.name} (fitness {each.fitness:.3g}, {outcome}, {each.steps} steps; {parts})"
