"""Ranges of physics, which `--vary` measures and `--randomise` trains with, as `friction=0.5:1.5`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rewardgen.core.errors import TaskError, UsageError, did_you_mean

Ranges = Mapping[str, tuple[float, float]]
"""Name of a parameter to its lowest and highest value."""

DELAY = "delay"
PARAMETERS: tuple[str, ...] = ("friction", "mass", "damping", "gravity", DELAY)
"""Factors on the model's own values, and the delay of actions [control steps]."""
_FACTORS, _DELAYS = (0.05, 20.0), (0, 20)
_VALUES = 5
"""Values of a range at most that are measured one by one."""


def parse_ranges(texts: str | Iterable[str]) -> dict[str, tuple[float, float]]:
    """Read ranges, such as `friction=0.5:1.5` or `delay=2`, in the order of `PARAMETERS`.

    Raises:
        UsageError: A parameter is unknown or given twice, or its range is invalid.
    """
    ranges: dict[str, tuple[float, float]] = {}
    for text in [texts] if isinstance(texts, str) else texts:
        name, _, values = text.partition("=")
        if name not in PARAMETERS:
            raise UsageError(f"physics has no parameter `{name}`", did_you_mean(name, PARAMETERS))
        if name in ranges:
            raise UsageError(f"`{name}` has two ranges", "give one")
        ranges[name] = _bounds(text, name, values)
    return {name: ranges[name] for name in PARAMETERS if name in ranges}


def _bounds(text: str, name: str, values: str) -> tuple[float, float]:
    least, most = _DELAYS if name == DELAY else _FACTORS
    try:
        low, *rest = (float(value) for value in values.split(":"))
        (high,) = rest or [low]
    except ValueError:
        low, high = 0.0, -1.0
    if not least <= low <= high <= most or (name == DELAY and (low % 1 or high % 1)):
        kind = "whole numbers of control steps" if name == DELAY else "factors"
        raise UsageError(f"`{text}` is no range", f"write `{name}=LOW:HIGH` with {kind} from {least} to {most}")
    return low, high


def range_text(name: str, low: float, high: float) -> str:
    """Return a range as `parse_ranges` reads it."""
    return f"{name}={low:g}" if low == high else f"{name}={low:g}:{high:g}"


def conditions(ranges: Ranges) -> list[tuple[str, ...]]:
    """Return the physics to measure: the model's own, `()`, then single values, then all ranges drawn together."""
    singles = [()]
    for name, (low, high) in ranges.items():
        own = own_value(name)
        values = [low + (high - low) * number / (_VALUES - 1) for number in range(_VALUES)]
        if low < own < high:
            values = [low, (low + own) / 2, (own + high) / 2, high]
        values = [float(round(value)) if name == DELAY else value for value in values]
        singles += [(range_text(name, value, value),) for value in values if value != own]
    return [*dict.fromkeys((*singles, tuple(range_text(name, *bounds) for name, bounds in ranges.items())))]


def own_value(name: str) -> float:
    """Return the value of a parameter that changes nothing."""
    return 0.0 if name == DELAY else 1.0


def words(texts: Sequence[str]) -> str:
    """Return physics in short: `friction 0.5, delay 0:2`."""
    return ", ".join(texts).replace("=", " ") or "the task's own"


def cannot_vary() -> TaskError:
    """Build the error of envs whose physics cannot change."""
    hint = "name a task on a MuJoCo model, simulated on the CPU, or leave out `--vary` and `--randomise`"
    return TaskError("the physics of its envs cannot change", hint)
