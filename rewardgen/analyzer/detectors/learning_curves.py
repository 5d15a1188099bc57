"""Detectors of the course of training and of seeds that disagree. One fires only if every seed shows it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from rewardgen.analyzer.training_curves import Curve
from rewardgen.analyzer.training_evidence import TrainingEvidence, flag
from rewardgen.core.formatting import number
from rewardgen.store.records import Flag

MOVED = 0.25
"""Loss or gain of fitness that counts, relative to its range over training."""
CLEARLY = 2.0
"""Standard errors, over evaluation episodes, that a loss of fitness exceeds."""
LOST = 0.1
"""Loss of fitness against doing nothing that counts, relative to the larger of the two."""
DISAGREE = 0.5
"""Range of the fitness over seeds, relative to its largest magnitude."""
NEXT_TO_NOTHING = 0.02
"""Share of the highest possible fitness; seeds below it agree that nothing was learned."""


def fitness_course(evidence: TrainingEvidence) -> Iterator[Flag]:
    """Find fitness that fell, while the reward rose or not, or was still rising: at most one of them."""
    curve, idle = evidence.curves.curve, evidence.idle
    if len(curve) < 3:
        return
    peak, last = max(curve, key=lambda point: point.fitness), curve[-1]
    numbers = {"peak_fitness": peak.fitness, "last_fitness": last.fitness}
    if evidence.everywhere(_fell_while_return_rose):
        message = (
            f"The reward rose while fitness fell, from {number(peak.fitness)} at {peak.env_steps} steps to "
            f"{number(last.fitness)}: the policy found something else to collect."
        )
        yield flag("reward-up-fitness-down", message, **numbers)
    elif idle is not None and evidence.everywhere(
        lambda points: (
            points[-1].episode_return > idle.episode_return and _well_below(_smooth_fitness(points)[-1], idle.fitness)
        )
    ):
        message = (
            f"The reward rose above that of doing nothing, {number(idle.episode_return)} to "
            f"{number(last.episode_return)}, while fitness fell below it, {number(idle.fitness)} to "
            f"{number(last.fitness)}: the reward leads away from the task."
        )
        yield flag("reward-up-fitness-down", message, idle_fitness=idle.fitness, **numbers)
    elif evidence.everywhere(_fell):
        message = "Fitness fell again after its peak: training is unstable, or the reward misleads late."
        yield flag("fitness-fell", message, **numbers)
    elif evidence.everywhere(_still_rising):
        yield flag("still-rising", "Fitness was still rising when training ended.", **numbers)


def _smooth_fitness(curve: Curve) -> list[float]:
    """Return means of neighbouring evaluations: one evaluation is a few episodes, so its fitness is noisy."""
    return [(one.fitness + after.fitness) / 2 for one, after in pairwise(curve)]


def _fell(curve: Curve) -> bool:
    """Return True if fitness ends clearly below its peak, beyond the noise of both."""
    values = _smooth_fitness(curve)
    peak, last = max(range(len(values)), key=values.__getitem__), len(values) - 1
    spreads = [max(point.fitness_spread for point in curve[place : place + 2]) for place in (peak, last)]
    return values[peak] - values[last] > max(MOVED * _range(values), CLEARLY * math.hypot(*spreads))


def _fell_while_return_rose(curve: Curve) -> bool:
    peak = max(curve, key=lambda point: point.fitness)
    return _fell(curve) and curve[-1].episode_return > peak.episode_return


def _well_below(fitness: float, of_idle: float) -> bool:
    return of_idle - fitness > LOST * max(abs(of_idle), abs(fitness))


def _still_rising(curve: Curve) -> bool:
    values = _smooth_fitness(curve)
    return values[-1] - max(values[: max(1, 3 * len(values) // 4)]) > MOVED * _range(values) > 0


def _range(values: Sequence[float]) -> float:
    return max(values) - min(values)


def no_better_than_trivial(evidence: TrainingEvidence) -> Iterator[Flag]:
    """Find policies that are no better than doing nothing or acting at random."""
    if evidence.no_better_than_trivial and evidence.trivial is not None:
        policy, fitness = evidence.trivial.policy, evidence.trivial.fitness
        message = f"Within noise the policy is no better than the {policy} policy (fitness {number(fitness)})."
        yield flag("no-better-than-trivial", message, trivial_fitness=fitness, fitness=evidence.result.fitness or 0.0)


def seeds_disagree(evidence: TrainingEvidence) -> Iterator[Flag]:
    """Find rewards with very different fitness over seeds."""
    values = [result.final_fitness for result in evidence.result.slices if result.final_fitness is not None]
    largest = max((abs(value) for value in values), default=0.0)
    nothing = largest < NEXT_TO_NOTHING * (evidence.card.best_fitness or 0.0)
    if len(values) > 1 and not nothing and _range(values) > DISAGREE * largest:
        message = (
            f"The seeds disagree, from {number(min(values))} to {number(max(values))}: one number stands for neither."
        )
        yield flag("seeds-disagree", message, lowest=min(values), highest=max(values))
