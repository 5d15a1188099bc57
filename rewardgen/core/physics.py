"""Ranges of physics, which `--vary` measures and `--randomise` trains with, as `friction=0.5:1.5`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rewardgen.core.errors import TaskError, UsageError, did_you_mean

Ranges = Mapping[str, tuple[float, float]]
"""Name of a parameter to its lowest and highest value."""

DELAY = "delay"
PARAMETERS: tuple[str, ...] = ("friction", "mass", "damping", "gravity", DELAY)
"""Factors on the model's own values, and the delay of actions [control steps]."""
_FACTORS, _DELAYS = (0.05, 20.0), (0, 20)
"""Lowest and highest value."""
_VALUES = 5
"""Values of a range at most that are measured one by one."""


def parse_ranges(texts: Iterable[str]) -> dict[str, tuple[float, float]]:
    """Read ranges, such as `friction=0.5:1.5` or `delay=2`, in the order of `PARAMETERS`.

    Raises:
        UsageError: A parameter is unknown or given twice, or a range is no range of its values.
    """
    ranges: dict[str, tuple[float, float]] = {}
    for text in texts:
        name, _, values = text.partition("=")
        if name not in PARAMETERS:
            raise UsageError(f"physics has no parameter `{name}`", did_you_mean(name, PARAMETERS))
        if name in ranges:
            raise UsageError(f"`{name}` has two ranges", "give one")
        ranges[name] = _range(text, name, values)
    return {name: ranges[name] for name in PARAMETERS if name in ranges}


def _range(text: str, name: str, values: str) -> tuple[float, float]:
    least, most = _DELAYS if name == DELAY else _FACTORS
    low, _, high = values.partition(":")
    try:
        bounds = float(low), float(high or low)
    except ValueError:
        bounds = (0.0, -1.0)
    whole = name != DELAY or all(bound.is_integer() for bound in bounds)
    if not (least <= bounds[0] <= bounds[1] <= most and whole):
        kind = "whole numbers of control steps" if name == DELAY else "factors"
        hint = f"write `{name}=LOW:HIGH` with {kind} from {least} to {most}, lower one first"
        raise UsageError(f"`{text}` is no range", hint)
    return bounds


def range_text(name: str, bounds: tuple[float, float]) -> str:
    """Return a range as `parse_ranges` reads it."""
    low, high = (f"{bound:g}" for bound in bounds)
    return f"{name}={low}" if low == high else f"{name}={low}:{high}"


def conditions(ranges: Ranges) -> Iterator[tuple[str, ...]]:
    """Yield the physics to measure: values of each range one at a time, then all ranges drawn together.

    The model's own values are left out.
    """
    for name, (low, high) in ranges.items():
        own = own_value(name)
        values = [low + (high - low) * number / (_VALUES - 1) for number in range(_VALUES)]
        if low < own < high:
            values = [low, (low + own) / 2, (own + high) / 2, high]
        if name == DELAY:
            values = [float(round(value)) for value in values]
        for value in dict.fromkeys(values):
            if value != own:
                yield (range_text(name, (value, value)),)
    yield tuple(range_text(name, bounds) for name, bounds in ranges.items())


def cannot_vary() -> TaskError:
    """Build the error of envs whose physics cannot change."""
    hint = "name a task on a MuJoCo model, simulated on the CPU, or leave out `--vary` and `--randomise`"
    return TaskError("the physics of its envs cannot change", hint)


def own_value(name: str) -> float:
    """Return the value of a parameter that changes nothing."""
    return 0.0 if name == DELAY else 1.0


def words(texts: Sequence[str]) -> str:
    """Return the physics of a condition in short: `friction 0.5, delay 0:2`."""
    return ", ".join(texts).replace("=", " ") or "the task's own"


def in_words(texts: Sequence[str]) -> str:
    """Return ranges as words of a sentence: `friction x 0.5 to 1.5, actions delayed by 0 to 2 control steps`."""
    words = []
    for name, (low, high) in parse_ranges(texts).items():
        values = f"{low:g}" if low == high else f"{low:g} to {high:g}"
        steps = "control step" if values == "1" else "control steps"
        words.append(f"actions delayed by {values} {steps}" if name == DELAY else f"{name} x {values}")
    return ", ".join(words)
