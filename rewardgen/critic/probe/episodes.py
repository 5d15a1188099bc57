"""What whole episodes tell: rewards best served by doing nothing, ending early or not finishing; what experts get."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from rewardgen.critic.probe.pairs import paths
from rewardgen.critic.probe.probed_reward import ProbedReward, finding
from rewardgen.store.records import Finding

_SHORTEST = 3
_BEST = 0.25
_GAIN = 0.1
"""Doing nothing is an attractor if the best episodes get at most this much more per step, relatively."""
_NEGATIVE = 0.95
_MADE_UP = 0.5
"""Ending early does not pay if it costs this share of living on."""
_CLEAR_END = 5.0
_HELD = 0.99
_CLEAR_GAIN = 0.02
"""What the expert gets more is clear if it is this share of the reward's spread."""


def idle_reward(reward: ProbedReward) -> Iterator[Finding]:
    """Doing nothing pays as well as the best that was recorded.

    Raises:
        RewardError: The reward fails without actions.
    """
    transitions = reward.transitions
    # What the actions cost is left out: the recorded ones are noise, which no policy would pay for.
    actions = {
        name: torch.zeros_like(reward.inputs[name]) for name in reward.reads if name in ("action", "prev_action")
    }
    total = reward.total_at(reward.inputs | actions)
    zero = transitions.of("zero")
    means = _episode_means(total, transitions.episode, transitions.beginners & ~zero)
    if not bool(zero.any()) or not len(means):
        return
    idle = float(total[zero].mean())
    best = float(means.topk(max(1, int(_BEST * len(means)))).values.mean())
    best = max([best, *(float(path.total[-1].median()) for path in paths(reward))])
    if best - idle <= (_GAIN * idle if idle > 0.0 else 0.0):
        message = (
            f"doing nothing gets {idle:.4g} per step; the best quarter of the recorded episodes, or the task's own"
            f" better situations, get {best:.4g} even without the cost of their actions"
        )
        hint = "lower what is paid in every state, or raise what is paid for getting on with the task"
        yield finding("idle-reward", message, hint, {"idle": idle, "best": best})


def _episode_means(total: Tensor, episode: Tensor, which: Tensor) -> Tensor:
    """Mean per step of the episodes with some steps, (episodes,)."""
    numbers = episode[which].long()
    steps = torch.bincount(numbers)
    sums = torch.zeros(len(steps)).index_add(0, numbers, total[which])
    return (sums / steps.clamp(min=1))[steps >= _SHORTEST]


def early_ending(reward: ProbedReward) -> Iterator[Finding]:
    """Negative pay that an early end stops."""
    transitions, total = reward.transitions, reward.total
    facts, typical = transitions.facts, transitions.typical
    if not facts.ends_early or facts.success_terminates:
        return
    alive, ended = ~transitions.terminated & transitions.beginners, transitions.terminated & transitions.beginners
    parts = [alive & rows for rows in (typical, ~typical) if bool((rows & alive).any())]
    negative = min(float((total[rows] < 0.0).float().mean()) for rows in parts)
    living = float(total[alive & typical].mean()) * horizon(reward)
    ending = float(total[ended].median()) if bool(ended.any()) else float(total.median())
    if negative < _NEGATIVE or living >= 0.0 or ending <= _MADE_UP * living:
        return
    message = (
        f"the reward is negative in {100 * negative:.0f} % of the recorded states, about {living:.4g} over an episode,"
        f" and {ending:.4g} at the step at which one ends: ending episodes early pays"
    )
    hint = "pay something for every good step, so that living on is worth more than ending"
    evidence = {"negative": negative, "living": living, "ending": ending}
    certain = float(total[alive].max()) <= 0.0 and living < _CLEAR_END * ending and ending < 0.0
    yield finding("early-ending-pays", message, hint, evidence, severity="reject" if certain else "warn")


def horizon(reward: ProbedReward) -> float:
    """Steps of a full episode, discounted."""
    facts = reward.transitions.facts
    if facts.discount >= 1.0:
        return float(facts.episode_steps)
    return (1.0 - facts.discount**facts.episode_steps) / (1.0 - facts.discount)


def hover(reward: ProbedReward) -> Iterator[Finding]:
    """Waiting before a success that ends the episode pays more than the success.

    Raises:
        RewardError: The reward fails where nothing changes.
    """
    transitions = reward.transitions
    alive, ended = ~transitions.terminated, transitions.terminated
    if not (transitions.facts.success_terminates and bool(ended.any()) and bool(alive.any())):
        return
    # Only what a state pays by being held, not what getting there pays.
    held = reward.total_at({name: transitions.still[name][alive] for name in reward.reads})
    best, bonus = float(torch.quantile(held, _HELD)), float(reward.total[ended].max())
    value = best * horizon(reward)
    if best > 0.0 and value > bonus:
        message = (
            f"success ends the episode and pays at most {bonus:.4g}; staying just before it pays {best:.4g} per step,"
            f" {value:.4g} over an episode"
        )
        hint = "pay for progress, `prev_distance - distance`, instead of for being near, or make the bonus larger"
        yield finding("success-ends-episode-hover", message, hint, {"held": best, "holding": value, "bonus": bonus})


def underpaid_expert(reward: ProbedReward) -> Iterator[Finding]:
    """The task's expert policy is paid no more per step than policies that know nothing.

    Where success ends an episode, what a step pays says nothing: a sound reward may pay for the end only.
    """
    transitions = reward.transitions
    expert = ~transitions.beginners
    trivial = {"doing nothing": transitions.of("zero"), "acting at random": transitions.of("random")}
    means = {name: float(reward.total[rows].mean()) for name, rows in trivial.items() if bool(rows.any())}
    if transitions.facts.success_terminates or not bool(expert.any()) or not means:
        return
    best = max(means, key=means.__getitem__)
    paid = float(reward.total[expert].mean())
    if paid - means[best] > _CLEAR_GAIN * reward.spread:
        return
    nothing = trivial[best]
    gains = {name: float(value[expert].mean() - value[nothing].mean()) for name, value in reward.components.items()}
    culprit = min(gains, key=gains.__getitem__)
    message = (
        f"a policy that was trained with the task's human reward gets {paid:.4g} per step, {best} {means[best]:.4g}"
    )
    hint = f"see whether `{culprit}` still pays where the task goes well: its sign, its range, its weight"
    yield finding("expert-underpaid", message, hint, {"expert": paid, "nothing": means[best]}, culprit)
