"""Whether the steps of each training can tell one reward from another, by the task's own rewards.

On an acrobot with 250k steps, the best reward of a model, the human and the sparse one ended at 0.23, 0.30 and 0.23,
all of them still rising: whatever the search did, it could not tell. That shows after the first generation.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from rewardgen.core.formatting import number, thousands
from rewardgen.core.statistics import later_mean
from rewardgen.store.history import History
from rewardgen.store.ranking import Ranking, leads
from rewardgen.store.records import CandidateResult

_RISING = 0.1
"""Rise of the fitness over the later half of a training, relative to all of its rise, from which on it still rises."""
_LEAST, _MOST = 2.0, 10.0
"""Steps that are proposed, relative to those that there are."""


class Doubt(NamedTuple):
    """That the steps are too few.

    Attributes:
        why: In a sentence.
        env_steps: That it would take, by the curves.
    """

    why: str
    env_steps: int


def budget_doubt(history: History, ranking: Ranking) -> Doubt | None:
    """The doubt, if the task's own rewards cannot be told apart while all their curves still rise.

    Args:
        history: Of a run whose first generation is trained.
        ranking: Of the task's own rewards, with the spread over seeds of all candidates.
    """
    results = [history.result("search", name) for name in history.baselines]
    known = [each for each in results if each and each.fitness is not None]
    if history.training is None or len(known) < 2 or len(ranking.ranks) < 2 or leads(*ranking.ranks[:2]):
        return None
    rises = [_rise(each) for each in known]
    if not all(late > _RISING * max(whole, 1e-9) and late > 0.0 for late, whole in rises):
        return None
    steps = history.training.env_steps
    wanted = int(steps * _factor(known))
    told = " and ".join(f"{each.candidate_id} {number(each.fitness or 0.0)}" for each in known)
    return Doubt(
        f"{thousands(steps)} steps may be too few to tell rewards apart: the task's own are within noise of each other"
        f" ({told}) and all their curves still rise; by these curves, {thousands(wanted)} would do",
        wanted,
    )


def _rise(result: CandidateResult) -> tuple[float, float]:
    """Rise of the mean curve from the middle to the end, and over the whole training."""
    curve = _mean_curve(result)
    end = later_mean(curve[-3:]) or curve[-1]
    middle = curve[len(curve) // 2 - 1] if len(curve) > 1 else curve[0]
    return end - middle, end - curve[0]


def _mean_curve(result: CandidateResult) -> list[float]:
    curves = [[point.fitness for point in each.curve] for each in result.slices]
    return [sum(values) / len(values) for values in zip(*curves, strict=False)] or [0.0]


def _factor(results: list[CandidateResult]) -> float:
    """How many times the steps it takes until the outer two part by more than noise, if they go on as lately."""
    ordered = sorted(results, key=lambda each: each.fitness or 0.0)
    low, high = _mean_curve(ordered[0]), _mean_curve(ordered[-1])
    half = min(len(low), len(high)) // 2
    if half < 1:
        return _LEAST
    opened = (high[-1] - low[-1]) - (high[-half - 1] - low[-half - 1])
    noise = 2.0 * math.hypot(ordered[0].fitness_spread, ordered[-1].fitness_spread)
    missing = noise - (high[-1] - low[-1])
    per_length = 2.0 * opened  # over half of the training
    return min(_MOST, max(_LEAST, 1.0 + missing / per_length)) if per_length > 0.0 else _LEAST
