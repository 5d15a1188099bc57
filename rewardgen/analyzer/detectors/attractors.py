"""Detectors of policies that collect reward without doing the task: hovering, idling, pacing, early ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from rewardgen.analyzer.training_curves import Curve
from rewardgen.analyzer.training_evidence import TrainingEvidence, flag
from rewardgen.core.formatting import number, percent
from rewardgen.core.statistics import later_mean
from rewardgen.store.measurements import TIME_LIMIT, EpisodeDigest
from rewardgen.store.records import Flag

COUNTS = 0.2
"""Share of the reward from which a component can sustain a policy."""
NEAR_BEST = 0.85
"""Share of a component's largest reading in the episode that counts as held."""
ABOUT_FITNESS = 0.5
"""Correlation with fitness from which a component counts as part of the task."""
AS_GOOD = 0.1
"""Gap between the returns of doing nothing and of the learned policy, relative to the larger, that counts as none."""
FARMED = 0.7
"""Share of a component's pay that is kept although the variable that it follows comes back."""
CAME_BACK = 0.35
"""Net change of that variable, relative to its way."""
MOVES = 0.3
"""Standard deviation of a component, relative to its mean, below which it does not pay for movement."""
UNSUCCESSFUL = 0.5
"""Success rate below which a way back and forth is not just how the task is done."""
EARLY = 0.5
"""Share of the episodes that end early."""
SHORTENED = 0.8
"""Steps per episode, relative to their maximum over training or to those of doing nothing."""


def hovering(evidence: TrainingEvidence) -> Iterator[Flag]:
    """Find a component at its best in every episode, without success: reached and held, or there from the start."""
    held = held_component(evidence)
    if held is None or not evidence.without_success or evidence.card.success_terminates:
        return
    if evidence.result.success_rate is None and not evidence.no_better_than_trivial:
        return  # a task that defines no success may have been learned
    point = evidence.curves.components[held][-1]
    numbers = {"share": point.share, "mean": point.mean, "success_rate": evidence.curves.curve[-1].success_rate}
    if all(values[0] < NEAR_BEST * max(values) for values in _in_episodes(evidence, held)):
        message = (
            f"`{held}` is reached in every episode and then held, {percent(point.share)} of the reward, without "
            "success: what is left of the task pays too little to leave it."
        )
        yield flag("reach-and-hover", message, held, **numbers)
    elif evidence.no_better_than_trivial:
        message = (
            f"`{held}` pays about the same from start to end, {percent(point.share)} of the reward, without success: "
            "it can be collected without doing the task."
        )
        yield flag("proxy-satisfied", message, held, **numbers)


def held_component(evidence: TrainingEvidence) -> str | None:
    """Return the largest positive component that stays near its best in the later half of every episode."""
    held = []
    for name, points in evidence.curves.components.items():
        episodes = [digest for result in evidence.result.slices for digest in result.episodes]
        if _counts(evidence, name) and episodes and all(_stays_near_best(digest, name) for digest in episodes):
            held.append((points[-1].share, name))
    return max(held)[1] if held else None


def _counts(evidence: TrainingEvidence, name: str) -> bool:
    points = evidence.curves.components[name]
    if points[-1].mean <= 0 or points[-1].share < COUNTS:
        return False
    r = later_mean([point.fitness_correlation for point in points])
    return r is None or r < ABOUT_FITNESS


def _in_episodes(evidence: TrainingEvidence, name: str) -> list[Sequence[float]]:
    return [digest.components.get(name, ()) for result in evidence.result.slices for digest in result.episodes]


def _stays_near_best(digest: EpisodeDigest, name: str) -> bool:
    """Return True if a component does over the later half of an episode, interpolated between its readings."""
    readings = list(zip(digest.times_s, digest.components.get(name, ()), strict=False))
    if len(readings) < 2:
        return False
    half, best = readings[-1][0] / 2, max(value for _, value in readings)
    later = [value for time, value in readings if time >= half]
    later += [
        value + (then - value) * (half - time) / (end - time)
        for (time, value), (end, then) in pairwise(readings)
        if time < half < end
    ]
    return best > 0 and min(later) >= NEAR_BEST * best


def doing_nothing_pays(evidence: TrainingEvidence) -> Iterator[Flag]:
    """Find rewards of which doing nothing collects as much as the trained policy."""
    idle = evidence.idle
    if idle is None or not evidence.without_success or not evidence.curves.curve:
        return
    learned = evidence.curves.curve[-1].episode_return
    if learned <= 0 or idle.episode_return < (1 - AS_GOOD) * learned:
        return
    message = (
        f"Doing nothing collects a reward of {number(idle.episode_return)} per episode, what was learned "
        f"{number(learned)}: standing still pays as well or better."
    )
    yield flag("alive-attractor", message, idle_return=idle.episode_return, episode_return=learned)


def oscillation(evidence: TrainingEvidence) -> Iterator[Flag]:
    """Find a component that pays for moving back and forth, and takes nothing on the way back."""
    curves, runs = evidence.curves, evidence.result.slices
    if not curves.curve or curves.curve[-1].success_rate >= UNSUCCESSFUL:
        return
    for name, points in curves.components.items():
        paths = [path for run in runs for path in run.path_efficiencies if path.component == name]
        farmed = all(path.kept >= FARMED and path.net <= CAME_BACK * path.path for path in paths)
        moves = points[-1].std >= MOVES * points[-1].mean
        if len(paths) < len(runs) or not (farmed and moves and _counts(evidence, name)):
            continue
        one = paths[0]
        message = (
            f"`{name}` is collected by moving back and forth: `{one.variable}` travels {number(one.path)} in an "
            f"episode and ends {number(one.net)} from where it began, and nothing is taken back on the way back."
        )
        yield flag("oscillation-farming", message, name, kept=one.kept, path=one.path, net=one.net)


def early_endings(evidence: TrainingEvidence) -> Iterator[Flag]:
    """Find episodes that end early without success, because it pays or because nothing better was learned."""
    curve, idle = evidence.curves.curve, evidence.idle
    if evidence.card.success_terminates or evidence.card.benign_terminations or len(curve) < 3:
        return
    early = {cause: share for cause, share in evidence.curves.terminations.items() if cause != TIME_LIMIT}
    share, last = sum(early.values()), curve[-1]
    numbers = {"early": share, "steps": last.episode_steps, "episode_return": last.episode_return}
    if evidence.everywhere(_shortened_while_return_rose):
        longest = max(point.episode_steps for point in curve)
        lengths = f"{number(longest)} to {number(last.episode_steps)} steps"
        message = f"Episodes became shorter ({lengths}) while the reward rose: ending early pays."
        yield flag("early-ending-pays", message, longest=longest, **numbers)
    elif share > EARLY and last.episode_return < 0:
        message = f"The reward is negative and {percent(share)} of the episodes end early: ending them stops the cost."
        yield flag("early-ending-pays", message, **numbers)
    elif (
        share > EARLY
        and idle is not None
        and last.episode_steps < SHORTENED * idle.episode_steps
        and last.episode_return > idle.episode_return
    ):
        message = "Episodes end sooner than if nothing were done, and the reward is higher: ending early pays."
        yield flag("early-ending-pays", message, idle_steps=idle.episode_steps, **numbers)
    elif share > EARLY:
        worst = max(early, key=early.__getitem__)
        length = number(last.episode_steps)
        message = f"{percent(early[worst])} of the episodes still end by `{worst}`, after {length} steps on average."
        yield flag("ends-early", message, **numbers)


def _shortened_while_return_rose(curve: Curve) -> bool:
    longest, last = max(curve, key=lambda point: point.episode_steps), curve[-1]
    return last.episode_steps < SHORTENED * longest.episode_steps and last.episode_return > longest.episode_return
