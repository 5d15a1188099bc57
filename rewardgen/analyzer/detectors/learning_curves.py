"""Detectors that look at the course of training: where reward and fitness went, and whether the seeds agree.

One fires only if every seed shows it, but for a training that was stopped.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from rewardgen.analyzer.hacking import MOVED, fell, fell_while_return_rose, smooth_fitness
from rewardgen.analyzer.training_curves import Curve
from rewardgen.analyzer.training_evidence import TrainingEvidence, flag
from rewardgen.core.formatting import number, percent
from rewardgen.core.statistics import later_mean
from rewardgen.store.measurements import EvaluationPoint
from rewardgen.store.records import Flag

LOST = 0.1
"""A loss of fitness against doing nothing that counts, relative to the larger of the two."""
CLIPPED = 0.1
"""Part of the reward that the learner cut off, from which on its components no longer weigh what they say."""
UNLIKELY = 4.0
"""Standard errors by which two evaluations of a policy differ that are not of the same physics."""
DISAGREE = 0.5
"""Range of the fitness over seeds, relative to its largest magnitude."""
NEXT_TO_NOTHING = 0.02
"""Of the highest fitness there is: seeds that stay below it agree that nothing was learned."""


def fitness_course(evidence: TrainingEvidence) -> Iterator[Flag]:
    """Fitness fell, while the reward rose or not, or was still rising: at most one of them."""
    curve, stops, idle = evidence.curves.curve, evidence.result.stops, evidence.idle
    if stops:  # of any seed: what stops a training is far beyond chance
        first, seeds = stops[0], len(evidence.result.slices)
        message = (
            f"On {len(stops)} of {'1 seed' if seeds == 1 else f'{seeds} seeds'} the {first.message}: the policy found "
            "something else to collect."
        )
        yield flag("reward-up-fitness-down", message, peak_fitness=first.fitness_from, last_fitness=first.fitness_to)
        return
    if len(curve) < 3:
        return
    peak, last = max(curve, key=lambda point: point.fitness), curve[-1]
    numbers = {"peak_fitness": peak.fitness, "last_fitness": last.fitness}
    if evidence.everywhere(fell_while_return_rose):
        message = (
            f"The reward rose while fitness fell, from {number(peak.fitness)} at {peak.env_steps} steps to "
            f"{number(last.fitness)}: the policy found something else to collect."
        )
        yield flag("reward-up-fitness-down", message, **numbers)
    elif idle is not None and evidence.everywhere(
        lambda each: (
            each[-1].episode_return > idle.episode_return and _well_below(smooth_fitness(each)[-1], idle.fitness)
        )
    ):
        message = (
            f"The reward rose above that of doing nothing, {number(idle.episode_return)} to "
            f"{number(last.episode_return)}, while fitness fell below it, {number(idle.fitness)} to "
            f"{number(last.fitness)}: the reward leads away from the task."
        )
        yield flag("reward-up-fitness-down", message, idle_fitness=idle.fitness, **numbers)
    elif evidence.everywhere(fell):
        message = "Fitness fell again after its peak: training is unstable, or the reward misleads late."
        yield flag("fitness-fell", message, **numbers)
    elif evidence.everywhere(_still_rising):
        yield flag("still-rising", "Fitness was still rising when training ended.", **numbers)


def _well_below(fitness: float, of_idle: float) -> bool:
    return of_idle - fitness > LOST * max(abs(of_idle), abs(fitness))


def _still_rising(curve: Curve) -> bool:
    values = smooth_fitness(curve)
    return values[-1] - max(values[: max(1, 3 * len(values) // 4)]) > MOVED * (max(values) - min(values)) > 0


def clipped_reward(evidence: TrainingEvidence) -> Iterator[Flag]:
    """Much of the reward lies in few steps, and does not reach the learner."""
    shares = [later_mean([point.clipped for point in curve]) or 0.0 for curve in evidence.seed_curves]
    if shares and min(shares) >= CLIPPED:
        share = sum(shares) / len(shares)
        message = (
            f"The learner cut off {percent(share)} of the reward: what a few steps pay at once counts only up to ten "
            "standard deviations of the discounted return, so spread it over more steps."
        )
        yield flag("clipped-reward", message, clipped=share)


def no_better_than_trivial(evidence: TrainingEvidence) -> Iterator[Flag]:
    """All training brought nothing."""
    if evidence.no_better_than_trivial and evidence.trivial is not None:
        policy, fitness = evidence.trivial.policy, evidence.trivial.fitness
        message = f"Within noise the policy is no better than the {policy} policy (fitness {number(fitness)})."
        yield flag("no-better-than-trivial", message, trivial_fitness=fitness, fitness=evidence.result.fitness or 0.0)


def seeds_disagree(evidence: TrainingEvidence) -> Iterator[Flag]:
    """The same reward led to very different fitness."""
    values = [each.final_fitness for each in evidence.result.slices if each.final_fitness is not None]
    largest = max((abs(value) for value in values), default=0.0)
    nothing = largest < NEXT_TO_NOTHING * (evidence.card.best_fitness or 0.0)
    if len(values) > 1 and not nothing and max(values) - min(values) > DISAGREE * largest:
        message = (
            f"The seeds disagree, from {number(min(values))} to {number(max(values))}: one number stands for neither."
        )
        yield flag("seeds-disagree", message, lowest=min(values), highest=max(values))


def lives_on_the_simulator(evidence: TrainingEvidence) -> Iterator[Flag]:
    """What the policies did in training they do not do in the clean evaluation, which is simulated on the CPU."""
    measured = [each for each in evidence.result.slices if each.curve and each.final_fitness is not None]
    ends = [(each.curve[-1], each.final_fitness or 0.0) for each in measured]
    if ends and all(_well_above(last, clean) for last, clean in ends):
        trained, clean = fmean(last.fitness for last, _ in ends), fmean(each for _, each in ends)
        message = (
            f"The fitness of {number(trained)} in training is {number(clean)} in the clean evaluation: the policy "
            "lives on an error of the simulator that it was trained in."
        )
        yield flag("simulator-error", message, in_training=trained, clean=clean)


def _well_above(last: EvaluationPoint, clean: float) -> bool:
    noise = UNLIKELY * 2**0.5 * last.fitness_spread
    return 0.0 < noise < last.fitness - clean > LOST * max(abs(last.fitness), abs(clean))
