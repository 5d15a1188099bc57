"""Detectors that look at the course of training: where reward and fitness went, and whether the seeds agree.

One fires only if every seed shows it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from rewardgen.analyzer.detectors.seen import Curve, Seen, flag
from rewardgen.prompts import number
from rewardgen.records import Flag

MOVED = 0.25
"""A loss or gain of fitness that counts, relative to its range over training."""
LOST = 0.1
"""A loss of fitness against doing nothing that counts, relative to the larger of the two."""
DISAGREE = 0.5
"""Range of the fitness over seeds, relative to its largest magnitude."""


def fitness_course(seen: Seen) -> Iterator[Flag]:
    """Fitness fell, while the reward rose or not, or was still rising: at most one of them."""
    curve = seen.course.curve
    if len(curve) < 3:
        return
    peak, last = max(curve, key=lambda point: point.fitness), curve[-1]
    evidence = {"peak_fitness": peak.fitness, "last_fitness": last.fitness}
    if seen.everywhere(_fell_while_return_rose):
        message = (
            f"The reward rose while fitness fell, from {number(peak.fitness)} at {peak.env_steps} steps to "
            f"{number(last.fitness)}: the policy found something else to collect."
        )
        yield flag("reward-up-fitness-down", message, **evidence)
    elif seen.idle is not None and seen.everywhere(lambda each: _worse_than_idle(each, seen)):
        message = (
            f"The reward rose above that of doing nothing, {number(seen.idle.episode_return)} to "
            f"{number(last.episode_return)}, while fitness fell below it, {number(seen.idle.fitness)} to "
            f"{number(last.fitness)}: the reward leads away from the task."
        )
        yield flag("reward-up-fitness-down", message, idle_fitness=seen.idle.fitness, **evidence)
    elif seen.everywhere(_fell):
        message = "Fitness fell again after its peak: training is unstable, or the reward misleads late."
        yield flag("fitness-fell", message, **evidence)
    elif seen.everywhere(_still_rising):
        yield flag("still-rising", "Fitness was still rising when training ended.", **evidence)


def _smooth_fitness(curve: Curve) -> list[float]:
    """Means of neighbouring evaluations: one evaluation is a few episodes, so its fitness is noisy."""
    return [(one.fitness + after.fitness) / 2 for one, after in pairwise(curve)]


def _fell(curve: Curve) -> bool:
    values = _smooth_fitness(curve)
    return max(values) - values[-1] > MOVED * (max(values) - min(values))


def _fell_while_return_rose(curve: Curve) -> bool:
    peak = max(curve, key=lambda point: point.fitness)
    return _fell(curve) and curve[-1].episode_return > peak.episode_return


def _worse_than_idle(curve: Curve, seen: Seen) -> bool:
    idle, last = seen.idle, _smooth_fitness(curve)[-1]
    if idle is None or curve[-1].episode_return <= idle.episode_return:
        return False
    return idle.fitness - last > LOST * max(abs(idle.fitness), abs(last))


def _still_rising(curve: Curve) -> bool:
    values = _smooth_fitness(curve)
    return values[-1] - max(values[: max(1, 3 * len(values) // 4)]) > MOVED * (max(values) - min(values)) > 0


def no_better_than_trivial(seen: Seen) -> Iterator[Flag]:
    """All training brought nothing."""
    if seen.no_better_than_trivial and seen.trivial is not None:
        fitness = seen.trivial.fitness
        message = f"The policy is no better than the {seen.trivial.policy} policy (fitness {number(fitness)})."
        yield flag("no-better-than-trivial", message, trivial_fitness=fitness, fitness=seen.result.fitness or 0.0)


def seeds_disagree(seen: Seen) -> Iterator[Flag]:
    """The same reward led to very different fitness."""
    values = [each.final_fitness for each in seen.result.slices if each.final_fitness is not None]
    if len(values) > 1 and max(values) - min(values) > DISAGREE * max(abs(value) for value in values):
        message = f"The seeds disagree, from {number(min(values))} to {number(max(values))}: it works by luck."
        yield flag("seeds-disagree", message, lowest=min(values), highest=max(values))
