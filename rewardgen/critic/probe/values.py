"""What the values of a reward's components on recorded transitions say: dead, constant, dominant, exploding, misscaled.

Warnings, as a trained policy goes where no recording was, unless there is no signal at all, which an expert's episodes
are no remedy for. What is said to hold of a component always must hold alike of a beginner's states, the expert's and
the perturbed ones, as a few wild ones would otherwise decide it; sizes are those of the first two.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import torch
from torch import Tensor

from rewardgen.critic.probe.findings import rejection, warning
from rewardgen.critic.probe.probed_reward import summed
from rewardgen.sim.transitions import TransitionSet
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
_NEARLY_ZERO = 1e-8

Components = Mapping[str, Tensor]


def check_statistics(
    components: Components, bank: TransitionSet, conditional: Collection[str] = ()
) -> tuple[Finding, ...]:
    """Find components that cannot guide a policy as they are.

    Args:
        components: Component name to its values, (M,), on the bank.
        bank: The transitions.
        conditional: Components that a comparison decides, or that are active in a declared situation, which may be
            zero nearly everywhere.

    Returns:
        Warnings, or one rejection if no component varies at all.
    """
    own = {name: value for name, value in components.items() if name != "residual" or _activation(value) > 0.0}
    if all(_is_flat(value[bank.beginners]) for value in own.values()):
        listed = ", ".join(f"`{name}` = {float(value.mean()):.4g}" for name, value in own.items())
        hint = "make a component vary between states that a random policy visits: rescale it, or widen its threshold"
        transitions = int(bank.beginners.sum())
        message = f"no component varies over {transitions} recorded transitions: {listed}"
        return (rejection("no-signal", message, hint, {"transitions": transitions}),)
    parts = _parts(own, bank)
    return (
        *_residual(components),
        *_flat_components(own, parts, conditional),
        *_dominant_component(parts),
        *_exploding_components({name: value[bank.reachable] for name, value in own.items()}),
        *_redundant_components(_parts(own, bank, bank.step > 1)),
        *_scale(parts, _parts(own, bank, bank.typical)),
    )


def _parts(components: Components, bank: TransitionSet, which: Tensor | None = None) -> list[Components]:
    """The components on a beginner's rows, the expert's, and the other reachable ones; of all rows or of some."""
    if which is None or not bool(which.any()):
        which = torch.ones_like(bank.typical)
    kinds = (bank.typical & bank.beginners, ~bank.beginners, ~bank.typical & bank.reachable)
    chosen = [rows & which for rows in kinds]
    return [{name: value[rows] for name, value in components.items()} for rows in chosen if bool(rows.any())]


def _residual(components: Components) -> Iterator[Finding]:
    residual = components.get("residual")
    if residual is not None and _activation(residual) > 0.0:
        mean = float(residual.abs().mean())
        message = f"the total is not the sum of the components: they differ by {mean:.4g} on average"
        hint = "return every term that is summed, already weighted"
        yield warning("residual", message, hint, {"difference": mean}, "residual")


def _flat_components(
    components: Components, parts: list[Components], conditional: Collection[str]
) -> Iterator[Finding]:
    for name, value in components.items():
        mean, std = float(value.mean()), float(value.std())
        activation = _activation(value)
        evidence = {"activation": activation, "mean": mean, "std": std}
        if activation < _DEAD_ACTIVATION:
            # A bonus for a rare event or a cost of rare trouble is active only then.
            if name not in conditional and (activation == 0.0 or float(value.max()) > 0.0):
                message = f"component `{name}` is zero in {100 * (1 - activation):.1f} % of the recorded transitions"
                hint = "widen its threshold or temperature, unless it is meant for states that come later"
                yield warning("dead-component", message, hint, evidence, name)
        elif std <= _CONSTANT * abs(mean):
            message = f"component `{name}` is nearly constant: {mean:.4g} with a standard deviation of {std:.2g}"
            yield warning("constant-component", message, "make it vary with the state, or remove it", evidence, name)
        elif all(float(part[name].var()) < _DEAD_VARIANCE * float(summed(part).var()) for part in parts):
            whole = float(summed(components).std())
            message = f"component `{name}` varies by {std:.2g}, the whole reward by {whole:.2g}"
            hint = "give it a larger weight or remove it"
            yield warning("dead-component", message, hint, {"std": std, "total_std": whole}, name)


def _dominant_component(parts: list[Components]) -> Iterator[Finding]:
    shares = {name: min(_share(part, name) for part in parts) for name in parts[0]}
    name = max(shares, key=shares.__getitem__)
    if len(shares) > 1 and shares[name] > _DOMINANT_SHARE:
        message = f"component `{name}` makes up {100 * shares[name]:.1f} % of the summed absolute components"
        hint = "bring the weights of the others up or its own down"
        yield warning("dominant-component", message, hint, {"share": shares[name]}, name)


def _share(components: Components, name: str) -> float:
    sizes = {each: float(value.abs().mean()) for each, value in components.items()}
    return sizes[name] / (sum(sizes.values()) or 1.0)


def _exploding_components(components: Components) -> Iterator[Finding]:
    for name, value in components.items():
        active = value.abs()[value.abs() > _NEARLY_ZERO]
        if not len(active):
            continue
        largest, median = float(torch.quantile(active, _LARGEST)), float(active.median())
        if largest > max(_EXPLODING_VALUE, _EXPLODING_RATIO * median):
            message = f"component `{name}` reaches {largest:.4g}, its median is {median:.4g}"
            hint = "bound it, as with `.clamp(max=...)` or a tanh"
            yield warning("exploding-component", message, hint, {"largest": largest, "median": median}, name)


def _redundant_components(parts: list[Components]) -> Iterator[Finding]:
    for first, second in _varying_pairs(parts):
        found = [float(torch.corrcoef(torch.stack((part[first], part[second])))[0, 1]) for part in parts]
        for detector, holds, relation, hint in (
            ("redundant-components", min(found) > _SAME, "say the same", "keep one of them"),
            ("contradictory-components", max(found) < _OPPOSITE, "work against each other", "decide which is wanted"),
        ):
            if holds:
                value = min(found, key=abs)
                message = f"components `{first}` and `{second}` {relation}: their correlation is {value:.3f}"
                yield warning(detector, message, hint, {"correlation": value}, second)


def _varying_pairs(parts: list[Components]) -> Iterator[tuple[str, str]]:
    names = [name for name in parts[0] if not any(_is_flat(part[name]) for part in parts)]
    for position, second in enumerate(names):
        for first in names[:position]:
            yield first, second


def _scale(parts: list[Components], typical: list[Components]) -> Iterator[Finding]:
    means, usual = ([float(summed(part).abs().mean()) for part in each] for each in (parts, typical))
    # A sparse reward may well be zero wherever a random policy gets.
    if max(means) < _SCALE[0] or max(usual) > _SCALE[1]:
        mean = max(usual)
        message = f"the reward is {mean:.3g} per step on average, in absolute value"
        hint = "scale the components so that their sum is between 0.001 and 100"
        yield warning("reward-scale", message, hint, {"mean": mean})


def _activation(value: Tensor) -> float:
    return float((value.abs() > _NEARLY_ZERO).float().mean())


def _is_flat(value: Tensor) -> bool:
    return float(value.max() - value.min()) <= _NEARLY_ZERO + 1e-6 * float(value.abs().max())
