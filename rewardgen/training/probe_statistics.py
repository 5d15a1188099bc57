"""What the values of a reward's components on recorded transitions say: dead, constant, dominant, exploding, misscaled.

Warnings, as a trained policy goes where no recording was, unless there is no signal at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from rewardgen.records import Finding

_DEAD_ACTIVATION = 0.01
_DEAD_VARIANCE = 1e-6
_CONSTANT = 1e-3
_DOMINANT_SHARE = 0.95
_EXPLODING_RATIO = 100.0
_EXPLODING_VALUE = 10.0
_SCALE = (1e-3, 1e2)
_CORRELATION = 0.995
_NEARLY_ZERO = 1e-8


def check_statistics(components: Mapping[str, Tensor]) -> tuple[Finding, ...]:
    """Find components that cannot guide a policy as they are.

    Args:
        components: Component name to its values, (M,), on recorded transitions.

    Returns:
        Warnings, or one rejection if no component varies at all.
    """
    own = {name: value for name, value in components.items() if name != "residual" or _activation(value) > 0.0}
    if all(_is_flat(value) for value in own.values()):
        listed = ", ".join(f"`{name}` = {float(value.mean()):.4g}" for name, value in own.items())
        hint = "make a component vary between states that a random policy visits: rescale it, or widen its threshold"
        message = f"no component varies over {len(next(iter(own.values())))} recorded transitions: {listed}"
        return (Finding(gate="probe", detector="no-signal", severity="reject", message=message, hint=hint),)
    return (
        *_residual(components),
        *_flat_components(own),
        *_dominant_component(own),
        *_exploding_components(own),
        *_redundant_components(own),
        *_scale(own),
    )


def _residual(components: Mapping[str, Tensor]) -> Iterator[Finding]:
    residual = components.get("residual")
    if residual is not None and _activation(residual) > 0.0:
        mean = float(residual.abs().mean())
        message = f"the total is not the sum of the components: they differ by {mean:.4g} on average"
        yield _warning("residual", message, "return every term that is summed, already weighted", "residual")


def _flat_components(components: Mapping[str, Tensor]) -> Iterator[Finding]:
    total_variance = float(_stacked(components).sum(0).var())
    for name, value in components.items():
        mean, std = float(value.mean()), float(value.std())
        activation = _activation(value)
        if activation < _DEAD_ACTIVATION:
            message = f"component `{name}` is zero in {100 * (1 - activation):.1f} % of the recorded transitions"
            hint = "widen its threshold or temperature, unless it is meant for states that come later"
            yield _warning("dead-component", message, hint, name)
        elif std <= _CONSTANT * abs(mean):
            message = f"component `{name}` is nearly constant: {mean:.4g} with a standard deviation of {std:.2g}"
            yield _warning("constant-component", message, "make it vary with the state, or remove it", name)
        elif std**2 < _DEAD_VARIANCE * total_variance:
            message = f"component `{name}` varies by {std:.2g}, the whole reward by {total_variance**0.5:.2g}"
            yield _warning("dead-component", message, "give it a larger weight or remove it", name)


def _dominant_component(components: Mapping[str, Tensor]) -> Iterator[Finding]:
    sizes = {name: float(value.abs().mean()) for name, value in components.items()}
    name = max(sizes, key=sizes.__getitem__)
    share = sizes[name] / (sum(sizes.values()) or 1.0)
    if len(sizes) > 1 and share > _DOMINANT_SHARE:
        message = f"component `{name}` makes up {100 * share:.1f} % of the summed absolute components"
        yield _warning("dominant-component", message, "bring the weights of the others up or its own down", name)


def _exploding_components(components: Mapping[str, Tensor]) -> Iterator[Finding]:
    for name, value in components.items():
        active = value.abs()[value.abs() > _NEARLY_ZERO]
        if len(active) and float(active.max()) > max(_EXPLODING_VALUE, _EXPLODING_RATIO * float(active.median())):
            message = (
                f"component `{name}` reaches {float(active.max()):.4g}, its median is {float(active.median()):.4g}"
            )
            yield _warning("exploding-component", message, "bound it, as with `.clamp(max=...)` or a tanh", name)


def _redundant_components(components: Mapping[str, Tensor]) -> Iterator[Finding]:
    names = [name for name, value in components.items() if not _is_flat(value)]
    if len(names) < 2:
        return
    correlation = torch.corrcoef(torch.stack([components[name] for name in names]))
    for row, first in enumerate(names):
        for column in range(row):
            value = float(correlation[row, column])
            if abs(value) > _CORRELATION:
                relation = "say the same" if value > 0 else "work against each other"
                message = f"components `{names[column]}` and `{first}` {relation}: their correlation is {value:.3f}"
                yield _warning("redundant-components", message, "keep one of them", first)


def _scale(components: Mapping[str, Tensor]) -> Iterator[Finding]:
    mean = float(_stacked(components).sum(0).abs().mean())
    if not _SCALE[0] <= mean <= _SCALE[1]:
        message = f"the reward is {mean:.3g} per step on average, in absolute value"
        yield _warning("reward-scale", message, "scale the components so that their sum is between 0.001 and 100")


def _stacked(components: Mapping[str, Tensor]) -> Tensor:
    return torch.stack(list(components.values()))


def _activation(value: Tensor) -> float:
    return float((value.abs() > _NEARLY_ZERO).float().mean())


def _is_flat(value: Tensor) -> bool:
    return float(value.max() - value.min()) <= _NEARLY_ZERO + 1e-6 * float(value.abs().max())


def _warning(detector: str, message: str, hint: str, component: str | None = None) -> Finding:
    return Finding(gate="probe", detector=detector, severity="warn", message=message, hint=hint, component=component)
