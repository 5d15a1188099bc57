"""Detectors that look at the course of training: where reward and fitness went, and whether the seeds agree.

One fires only if every seed shows it, but for a training that was stopped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rewardgen.analyzer.detectors.seen import Curve, TrainingEvidence, flag
from rewardgen.analyzer.hacking import MOVED, fell, fell_while_return_rose, smooth_fitness
from rewardgen.llm.prompts import number
from rewardgen.store.measurements import EarlyStop
from rewardgen.store.records import Flag

LOST = 0.1
"""A loss of fitness against doing nothing that counts, relative to the larger of the two."""
DISAGREE = 0.5
"""Range of the fitness over seeds, relative to its largest magnitude."""


def fitness_course(seen: TrainingEvidence) -> Iterator[Flag]:
    """Fitness fell, while the reward rose or not, or was still rising: at most one of them."""
    curve, stops = seen.course.curve, seen.result.stops
    if stops:
        yield _stopped(stops, len(seen.result.slices))
        return
    if len(curve) < 3:
        return
    peak, last = max(curve, key=lambda point: point.fitness), curve[-1]
    evidence = {"peak_fitness": peak.fitness, "last_fitness": last.fitness}
    if seen.everywhere(fell_while_return_rose):
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
    elif seen.everywhere(fell):
        message = "Fitness fell again after its peak: training is unstable, or the reward misleads late."
        yield flag("fitness-fell", message, **evidence)
    elif seen.everywhere(_still_rising):
        yield flag("still-rising", "Fitness was still rising when training ended.", **evidence)


def _stopped(stops: Sequence[EarlyStop], seeds: int) -> Flag:
    """Of any seed: what stops a slice is far beyond chance."""
    first = stops[0]
    message = f"On {len(stops)} of {_seeds(seeds)} the {first.message}: the policy found something else to collect."
    return flag("reward-up-fitness-down", message, peak_fitness=first.fitness_from, last_fitness=first.fitness_to)


def _seeds(number_of: int) -> str:
    return "1 seed" if number_of == 1 else f"{number_of} seeds"


def _worse_than_idle(curve: Curve, seen: TrainingEvidence) -> bool:
    idle, last = seen.idle, smooth_fitness(curve)[-1]
    if idle is None or curve[-1].episode_return <= idle.episode_return:
        return False
    return idle.fitness - last > LOST * max(abs(idle.fitness), abs(last))


def _still_rising(curve: Curve) -> bool:
    values = smooth_fitness(curve)
    return values[-1] - max(values[: max(1, 3 * len(values) // 4)]) > MOVED * (max(values) - min(values)) > 0


def no_better_than_trivial(seen: TrainingEvidence) -> Iterator[Flag]:
    """All training brought nothing."""
    if seen.no_better_than_trivial and seen.trivial is not None:
        policy, fitness = seen.trivial.policy, seen.trivial.fitness
        message = f"Within noise the policy is no better than the {policy} policy (fitness {number(fitness)})."
        yield flag("no-better-than-trivial", message, trivial_fitness=fitness, fitness=seen.result.fitness or 0.0)


def seeds_disagree(seen: TrainingEvidence) -> Iterator[Flag]:
    """The same reward led to very different fitness."""
    values = [each.final_fitness for each in seen.result.slices if each.final_fitness is not None]
    if len(values) > 1 and max(values) - min(values) > DISAGREE * max(abs(value) for value in values):
        message = f"The seeds disagree, from {number(min(values))} to {number(max(values))}: it works by luck."
        yield flag("seeds-disagree", message, lowest=min(values), highest=max(values))
