"""Detectors of policies that are content with what is not the task: hovering, standing still, pacing back and forth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rewardgen.analyzer.detectors.seen import Curve, TrainingEvidence, flag
from rewardgen.analyzer.training_curves import correlation
from rewardgen.llm.prompts import number, percent
from rewardgen.store.measurements import EpisodeDigest, PathEfficiency
from rewardgen.store.records import Flag

COUNTS = 0.2
"""Share of the reward from which on a component can be what a policy lives on."""
NEAR_BEST = 0.85
"""Of a component's largest reading in the episode: so much of it is held."""
ABOUT_FITNESS = 0.5
"""Correlation with the fitness from which on a component is taken to be about the task."""
AS_GOOD = 0.1
"""Gap between the returns of doing nothing and of what was learned, relative to the larger, that is none."""
FLAT = 0.05
"""Change of the return over the later half, relative to its range over training."""
FARMED = 0.7
"""Part of what a component hands out that stays in the sum, although the variable that it follows comes back."""
CAME_BACK = 0.35
"""Net change of that variable, relative to its way."""
MOVES = 0.3
"""Standard deviation of a component, relative to its mean, below which it is not paid for movement."""
UNSUCCESSFUL = 0.5
"""Success rate below which a way back and forth is not just how the task is done."""


def hovering(seen: TrainingEvidence) -> Iterator[Flag]:
    """A component at its best in every episode, without success: reached and held, or there from the start."""
    held = held_component(seen)
    if held is None or not seen.without_success or seen.card.success_terminates:
        return
    point = seen.course.components[held][-1]
    evidence = {"share": point.share, "mean": point.mean, "success_rate": seen.course.curve[-1].success_rate}
    if all(_rises(each, held) for each in _episodes(seen)):
        message = (
            f"`{held}` is reached in every episode and then held, {percent(point.share)} of the reward, without "
            "success: what is left of the task pays too little to leave it."
        )
        yield flag("reach-and-hover", message, held, **evidence)
    elif seen.no_better_than_trivial:
        message = (
            f"`{held}` is satisfied from start to end, {percent(point.share)} of the reward, without success: it can "
            "be had without the task."
        )
        yield flag("proxy-satisfied", message, held, **evidence)


def held_component(seen: TrainingEvidence) -> str | None:
    """The largest positive component that is near its best in the later half of every episode and not about fitness."""
    held = [name for name in seen.course.components if _counts(seen, name) and _is_held(seen, name)]
    return max(held, key=lambda name: seen.course.components[name][-1].share, default=None)


def _counts(seen: TrainingEvidence, name: str) -> bool:
    points = seen.course.components[name]
    if not points or points[-1].mean <= 0 or points[-1].share < COUNTS:
        return False
    r = correlation([point.fitness_correlation for point in points])
    return r is None or r < ABOUT_FITNESS


def _episodes(seen: TrainingEvidence) -> list[EpisodeDigest]:
    return [digest for each in seen.result.slices for digest in each.episodes]


def _is_held(seen: TrainingEvidence, name: str) -> bool:
    series = [digest.components.get(name, ()) for digest in _episodes(seen)]
    return bool(series) and all(_near_best(values) for values in series)


def _near_best(values: Sequence[float]) -> bool:
    later = values[len(values) // 2 :]
    return len(values) > 1 and max(values) > 0 and min(later) >= NEAR_BEST * max(values)


def _rises(digest: EpisodeDigest, name: str) -> bool:
    values = digest.components[name]
    return values[0] < NEAR_BEST * max(values)


def doing_nothing_pays(seen: TrainingEvidence) -> Iterator[Flag]:
    """A policy that does nothing collects as much as the trained one, and more than nothing."""
    idle = seen.idle
    if idle is None or not seen.without_success or not seen.course.curve:
        return
    learned = seen.course.curve[-1].episode_return
    if learned <= 0 or idle.episode_return < (1 - AS_GOOD) * learned:
        return
    message = (
        f"Doing nothing collects a reward of {number(idle.episode_return)} per episode, what was learned "
        f"{number(learned)}: standing still pays as well or better."
    )
    yield flag("alive-attractor", message, idle_return=idle.episode_return, episode_return=learned)


def oscillation(seen: TrainingEvidence) -> Iterator[Flag]:
    """A component collects over a way back and forth, and gives nothing back on the way back."""
    if not seen.course.curve or seen.course.curve[-1].success_rate >= UNSUCCESSFUL:
        return
    for name in seen.course.components:
        path_efficiencies = [
            travel for each in seen.result.slices for travel in each.path_efficiencies if travel.component == name
        ]
        if (
            len(path_efficiencies) < len(seen.result.slices)
            or not _counts(seen, name)
            or not all(map(_farmed, path_efficiencies))
        ):
            continue
        last = seen.course.components[name][-1]
        if last.std < MOVES * last.mean:
            continue
        one = path_efficiencies[0]
        message = (
            f"`{name}` is collected by moving back and forth: `{one.variable}` travels {number(one.path)} in an "
            f"episode and ends {number(one.net)} from where it began, and nothing is taken back on the way back."
        )
        yield flag("oscillation-farming", message, name, kept=one.kept, path=one.path, net=one.net)


def _farmed(travel: PathEfficiency) -> bool:
    return travel.kept >= FARMED and travel.net <= CAME_BACK * travel.path


def content(seen: TrainingEvidence) -> Iterator[Flag]:
    """The reward no longer changes, without success."""
    if len(seen.course.curve) >= 3 and seen.everywhere(_flat) and seen.without_success:
        message = "The reward was flat over the later half of training, without success: it settled in a local optimum."
        yield flag("settled-without-success", message, episode_return=seen.course.curve[-1].episode_return)


def _flat(curve: Curve) -> bool:
    values = [point.episode_return for point in curve]
    later = values[len(values) // 2 :]
    whole = max(values) - min(values)
    return whole > 0 and max(later) - min(later) < FLAT * whole
