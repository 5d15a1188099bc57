"""What whole rollouts tell: rewards that are best served by doing nothing, by ending early, or by not finishing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from rewardgen.critic.probe.findings import rejection, warning
from rewardgen.critic.probe.pairs import Way
from rewardgen.critic.probe.probed_reward import Inputs, ProbedReward
from rewardgen.store.records import Finding

_SHORTEST = 3
_BEST = 0.25
_GAIN = 0.1
"""Doing nothing is an attractor if the best episodes get at most this much more per step, relatively."""
_NEGATIVE = 0.95
_MADE_UP = 0.5
"""Ending early does not pay if it costs this share of living on."""
_CLEAR = 5.0
_HELD = 0.99


def check_episodes(subject: ProbedReward, ways: Sequence[Way]) -> Iterator[Finding]:
    """Find rewards whose best policy is idle, ends episodes early, or stops short of success.

    Args:
        subject: The reward.
        ways: Its values between the task's pairs.

    Raises:
        RewardError: The reward fails without actions, or where nothing changes.
    """
    yield from _idle(subject, ways)
    if subject.bank.facts.ends_early and not subject.bank.facts.success_terminates:
        yield from _early_ending(subject)
    if subject.bank.facts.success_terminates:
        yield from _hover(subject)


def _idle(subject: ProbedReward, ways: Sequence[Way]) -> Iterator[Finding]:
    bank = subject.bank
    # What the actions cost is left out: the recorded ones are noise, which no policy would pay for.
    total = subject.total_at(_without_action(subject))
    zero = bank.of("zero")
    means = _episode_means(total, bank.episode, bank.beginners & ~zero)
    if not bool(zero.any()) or not len(means):
        return
    idle = float(total[zero].mean())
    best = float(means.topk(max(1, int(_BEST * len(means)))).values.mean())
    best = max([best, *(float(way.total[-1].median()) for way in ways)])
    if best - idle <= (_GAIN * idle if idle > 0.0 else 0.0):
        message = (
            f"doing nothing gets {idle:.4g} per step; the best quarter of the recorded episodes, or the task's own"
            f" better situations, get {best:.4g} even without the cost of their actions"
        )
        hint = "lower what is paid in every state, or raise what is paid for getting on with the task"
        yield warning("idle-reward", message, hint, {"idle": idle, "best": best})


def _without_action(subject: ProbedReward) -> Inputs:
    values = subject.bank.inputs
    return {
        name: torch.zeros_like(values[name]) if name in ("action", "prev_action") else values[name]
        for name in subject.reads
    }


def _episode_means(total: Tensor, episode: Tensor, which: Tensor) -> Tensor:
    """Mean per step of the episodes with some steps, (episodes,)."""
    numbers = episode[which].long()
    steps = torch.bincount(numbers)
    sums = torch.zeros(len(steps)).index_add(0, numbers, total[which])
    return (sums / steps.clamp(min=1))[steps >= _SHORTEST]


def _early_ending(subject: ProbedReward) -> Iterator[Finding]:
    bank, total = subject.bank, subject.total
    alive, ended = ~bank.terminated & bank.beginners, bank.terminated & bank.beginners
    negative = min(float((total[alive & rows] < 0.0).float().mean()) for rows in _parts(subject, alive))
    living = float(total[alive & bank.typical].mean()) * horizon(subject)
    ending = float(total[ended].median()) if bool(ended.any()) else float(total.median())
    if negative < _NEGATIVE or living >= 0.0 or ending <= _MADE_UP * living:
        return
    message = (
        f"the reward is negative in {100 * negative:.0f} % of the recorded states, about {living:.4g} over an episode,"
        f" and {ending:.4g} at the step at which one ends: ending episodes early pays"
    )
    hint = "pay something for every good step, so that living on is worth more than ending"
    evidence = {"negative": negative, "living": living, "ending": ending}
    certain = float(total[alive].max()) <= 0.0 and living < _CLEAR * ending and ending < 0.0
    yield (rejection if certain else warning)("early-ending-pays", message, hint, evidence)


def _parts(subject: ProbedReward, alive: Tensor) -> list[Tensor]:
    """Typical rows and the others, as far as there are any."""
    typical = subject.bank.typical
    return [rows for rows in (typical, ~typical) if bool((rows & alive).any())]


def horizon(subject: ProbedReward) -> float:
    """Steps of a full episode, discounted."""
    facts = subject.bank.facts
    if facts.discount >= 1.0:
        return float(facts.episode_steps)
    return (1.0 - facts.discount**facts.episode_steps) / (1.0 - facts.discount)


def _hover(subject: ProbedReward) -> Iterator[Finding]:
    bank = subject.bank
    alive, ended = ~bank.terminated, bank.terminated
    if not bool(ended.any()) or not bool(alive.any()):
        return
    # Only what a state pays by being held, not what getting there pays.
    held = subject.total_at({name: bank.still[name][alive] for name in subject.reads})
    best, bonus = float(torch.quantile(held, _HELD)), float(subject.total[ended].max())
    value = best * horizon(subject)
    if best > 0.0 and value > bonus:
        message = (
            f"success ends the episode and pays at most {bonus:.4g}; staying just before it pays {best:.4g} per step,"
            f" {value:.4g} over an episode"
        )
        hint = "pay for progress, `prev_distance - distance`, instead of for being near, or make the bonus larger"
        yield warning("success-ends-episode-hover", message, hint, {"held": best, "holding": value, "bonus": bonus})
