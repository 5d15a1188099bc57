"""What a policy that gets on with the task is paid, next to what is paid for nothing."""

from __future__ import annotations

from collections.abc import Iterator

from rewardgen.critic.probe.findings import warning
from rewardgen.critic.probe.probed_reward import ProbedReward
from rewardgen.store.records import Finding

_CLEAR = 0.02
"""What the expert gets more is clear if it is this share of the reward's spread."""


def check_expert(subject: ProbedReward) -> Iterator[Finding]:
    """Find rewards that pay the task's expert policy no more per step than policies that know nothing.

    Where success ends an episode, what a step pays says nothing: a sound reward may pay for the end only.

    Args:
        subject: The reward.
    """
    bank = subject.bank
    expert = ~bank.beginners
    trivial = {"doing nothing": bank.of("zero"), "acting at random": bank.of("random")}
    means = {name: float(subject.total[rows].mean()) for name, rows in trivial.items() if bool(rows.any())}
    if bank.facts.success_terminates or not bool(expert.any()) or not means:
        return
    best = max(means, key=means.__getitem__)
    paid = float(subject.total[expert].mean())
    if paid - means[best] > _CLEAR * subject.spread:
        return
    nothing = trivial[best]
    gains = {name: float(value[expert].mean() - value[nothing].mean()) for name, value in subject.components.items()}
    culprit = min(gains, key=gains.__getitem__)
    message = (
        f"a policy that was trained with the task's human reward gets {paid:.4g} per step, {best} {means[best]:.4g}"
    )
    hint = f"see whether `{culprit}` still pays where the task goes well: its sign, its range, its weight"
    yield warning("expert-underpaid", message, hint, {"expert": paid, "nothing": means[best]}, culprit)
