"""What the values of a reward's components on recorded transitions say: dead, constant, dominant, exploding, misscaled.

Warnings, as a trained policy goes where no recording was. What is said to hold of a component always must hold alike of
a beginner's states, the expert's and the perturbed ones, as a few wild ones would otherwise decide it; sizes are those
of the first two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from rewardgen.critic.probe.contract import is_flat, varying
from rewardgen.critic.probe.pairs import paths
from rewardgen.critic.probe.probed_reward import ZERO, ProbedReward, finding, summed
from rewardgen.store.records import Finding

_DEAD_ACTIVATION = 0.01
_DEAD_VARIANCE = 1e-6
_CONSTANT = 1e-3
_DOMINANT_SHARE = 0.95
_EXPLODING_RATIO = 100.0
_EXPLODING_VALUE = 10.0
_LARGEST = 0.999
"""The quantile that stands for the largest value: a few freaks of the physics do not count."""
_SCALE = (1e-3, 1e2)
_SAME, _OPPOSITE = 0.995, -0.98
_ROUNDING = 1e-5

Components = Mapping[str, Tensor]


def residual(reward: ProbedReward) -> Iterator[Finding]:
    """A total that is not the sum of the components."""
    rest = varying(reward).get("residual")
    if rest is not None:
        mean = float(rest.abs().mean())
        message = f"the total is not the sum of the components: they differ by {mean:.4g} on average"
        hint = "return every term that is summed, already weighted"
        yield finding("residual", message, hint, {"difference": mean}, "residual")


def flat_components(reward: ProbedReward) -> Iterator[Finding]:
    """Components that are zero or constant nearly everywhere, or drown in the rest."""
    own, parts = varying(reward), _parts(reward)
    for name, value in own.items():
        mean, std, activation = float(value.mean()), float(value.std()), _activation(value)
        evidence = {"activation": activation, "mean": mean, "std": std}
        if activation < _DEAD_ACTIVATION:
            # A bonus for a rare event or a cost of rare trouble is active only then.
            if not _is_conditional(reward, name) and (activation == 0.0 or float(value.max()) > 0.0):
                message = f"component `{name}` is zero in {100 * (1 - activation):.1f} % of the recorded transitions"
                hint = "widen its threshold or temperature, unless it is meant for states that come later"
                yield finding("dead-component", message, hint, evidence, name)
        elif std <= _CONSTANT * abs(mean):
            if name not in reward.by_flags:
                message = f"component `{name}` is nearly constant: {mean:.4g} with a standard deviation of {std:.2g}"
                hint = "make it vary with the state, or remove it"
                yield finding("constant-component", message, hint, evidence, name)
        elif all(float(part[name].var()) < _DEAD_VARIANCE * float(summed(part).var()) for part in parts):
            whole = float(summed(own).std())
            message = f"component `{name}` varies by {std:.2g}, the whole reward by {whole:.2g}"
            hint = "give it a larger weight or remove it"
            yield finding("dead-component", message, hint, {"std": std, "total_std": whole}, name)


def _is_conditional(reward: ProbedReward, name: str) -> bool:
    """Whether a comparison or a flag decides a component, or it is active in a declared situation: it may be rare."""
    if reward.source.asks(name) or name in reward.by_flags:
        return True
    return any(float(path.components[name].abs().max()) > ZERO for path in paths(reward))


def dominant_component(reward: ProbedReward) -> Iterator[Finding]:
    """One component that is nearly all of the reward."""
    parts = _parts(reward)
    shares = {name: min(_share(part, name) for part in parts) for name in parts[0]}
    name = max(shares, key=shares.__getitem__)
    if len(shares) > 1 and shares[name] > _DOMINANT_SHARE:
        message = f"component `{name}` makes up {100 * shares[name]:.1f} % of the summed absolute components"
        hint = "bring the weights of the others up or its own down"
        yield finding("dominant-component", message, hint, {"share": shares[name]}, name)


def _share(components: Components, name: str) -> float:
    sizes = {each: float(value.abs().mean()) for each, value in components.items()}
    return sizes[name] / (sum(sizes.values()) or 1.0)


def exploding_components(reward: ProbedReward) -> Iterator[Finding]:
    """Components whose largest values are far above their median."""
    for name, value in varying(reward).items():
        size = value[reward.transitions.reachable].abs()
        active = size[size > ZERO]
        if not len(active):
            continue
        largest, median = float(torch.quantile(active, _LARGEST)), float(active.median())
        if largest > max(_EXPLODING_VALUE, _EXPLODING_RATIO * median):
            message = f"component `{name}` reaches {largest:.4g}, its median is {median:.4g}"
            hint = "bound it, as with `.clamp(max=...)` or a tanh"
            yield finding("exploding-component", message, hint, {"largest": largest, "median": median}, name)


def related_components(reward: ProbedReward) -> Iterator[Finding]:
    """Components that say the same, or the opposite."""
    parts = _parts(reward, reward.transitions.step > 1)
    names = [name for name in parts[0] if not any(is_flat(part[name]) for part in parts)]
    for first, second in ((first, second) for place, second in enumerate(names) for first in names[:place]):
        found = [float(torch.corrcoef(torch.stack((part[first], part[second])))[0, 1]) for part in parts]
        for detector, holds, relation, hint in (
            ("redundant-components", min(found) > _SAME, "say the same", "keep one of them"),
            ("contradictory-components", max(found) < _OPPOSITE, "work against each other", "decide which is wanted"),
        ):
            if holds:
                value = min(found, key=abs)
                message = f"components `{first}` and `{second}` {relation}: their correlation is {value:.3f}"
                yield finding(detector, message, hint, {"correlation": value}, second)


def listed_totals(reward: ProbedReward) -> Iterator[Finding]:
    """Components that are the sum of at least two others that vary."""
    own = varying(reward)
    moving = {name for name, value in own.items() if not is_flat(value)}
    largest = max(float(value.abs().max()) for value in own.values())
    for name in (name for name in own if len(moving - {name}) > 1):
        rest = summed({each: value for each, value in own.items() if each != name})
        if float((rest - own[name]).abs().max()) <= _ROUNDING * largest:
            message = f"component `{name}` is the sum of the others: everything counts twice"
            evidence = {"largest difference": float((rest - own[name]).abs().max())}
            yield finding("total-among-components", message, "return the parts only: they are summed", evidence, name)


def scale(reward: ProbedReward) -> Iterator[Finding]:
    """Rewards of thousands, or thousandths."""
    each_part, usual = (
        [float(summed(part).abs().mean()) for part in parts]
        for parts in (_parts(reward), _parts(reward, reward.transitions.typical))
    )
    # A sparse reward may well be zero wherever a random policy gets.
    if max(each_part) < _SCALE[0] or max(usual) > _SCALE[1]:
        mean = max(usual)
        message = f"the reward is {mean:.3g} per step on average, in absolute value"
        hint = "scale the components so that their sum is between 0.001 and 100"
        yield finding("reward-scale", message, hint, {"mean": mean})


def unfired_bonuses(reward: ProbedReward) -> Iterator[Finding]:
    """Components that a comparison decides and that are zero in every recorded and declared state, flags up or down."""
    for name, value in reward.components.items():
        known = [value, *(path.components[name] for path in paths(reward))]
        never = max(float(each.abs().max()) for each in known) <= ZERO
        if never and reward.source.asks(name) and name not in reward.by_flags:
            message = f"the condition of component `{name}` holds in none of {len(value)} recorded transitions"
            hint = "compare its threshold with the ranges of the variables: can a trained policy get there?"
            yield finding("bonus-never-fires", message, hint, {"transitions": len(value), "activation": 0.0}, name)


def _parts(reward: ProbedReward, which: Tensor | None = None) -> list[Components]:
    """The components on a beginner's rows, the expert's, and the other reachable ones; of all rows or of some."""
    of = reward.transitions
    if which is None or not bool(which.any()):
        which = torch.ones_like(of.typical)
    kinds = (of.typical & of.beginners, ~of.beginners, ~of.typical & of.reachable)
    chosen = [rows & which for rows in kinds]
    own = varying(reward)
    return [{name: value[rows] for name, value in own.items()} for rows in chosen if bool(rows.any())]


def _activation(value: Tensor) -> float:
    return float((value.abs() > ZERO).float().mean())
