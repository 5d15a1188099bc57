"""Exponentials within a reward: taken twice, zero nearly everywhere, or of an angle that is scaled as if in degrees."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from torch import Tensor

from rewardgen.critic.probe.probed_reward import ProbedReward, finding
from rewardgen.critic.probe.trace import Step, ancestors
from rewardgen.store.records import Finding

_EXPONENTIALS = frozenset(["exp", "exp2", "expm1"])
_TAMING = _EXPONENTIALS | {
    *("input", "tolerance", "tanh", "sigmoid", "softsign", "sign", "atan", "arctan", "log", "log1p", "log2", "log10"),
    *("gt", "ge", "lt", "le", "eq", "ne", "minimum", "clamp", "clip", "softmax", "softplus", "logsumexp", "nan_to_num"),
}
"""What leaves nothing of the size of an exponential."""
_SCALING = frozenset(["neg", "mul", "div", "square", "pow", "abs", "sum", "mean"])
_ZERO, _ONE = -30.0, -1e-3
"""Exponents below the first make an exponential zero, above the second one."""
_NEARLY_ALWAYS, _SOMETIMES = 0.8, 0.1
_DEGREES = 2.0 * math.pi * 1.05
"""No angle in radians is divided by more than a full turn to make it small."""


def nested_exponentials(reward: ProbedReward) -> Iterator[Finding]:
    """Exponentials of exponentials."""
    nested = [each for each, exponent in _exponentials(reward) if _holds_exponential(exponent)]
    for step in _one_per_line(nested):
        hint = "take one exponential, of a distance or an error"
        yield _at(step, "nested-exponential", "the reward takes the exponential of an exponential", hint, {})


def small_temperatures(reward: ProbedReward) -> Iterator[Finding]:
    """Exponentials that are zero nearly wherever they are not one, which no policy can climb."""
    exponents = dict(_exponentials(reward))
    for step in _one_per_line([each for each, exponent in exponents.items() if _is_dead(exponent.value)]):
        value = exponents[step].value
        typical, least = float(value[value < _ONE].median()), float(value.min())
        what = (
            f"the reward has an exponential that is zero nearly wherever it is not one: where its exponent is not"
            f" about 0, it is typically {typical:.4g}, down to {least:.4g}"
        )
        hint = "use a temperature about as large as the values it divides, or weigh the distance itself"
        yield _at(step, "temperature-too-small", what, hint, {"typical exponent": typical})


def squashed_degrees(reward: ProbedReward) -> Iterator[Finding]:
    """Angles in radians that are divided by a number of degrees before they are squashed, which leaves nothing."""
    squashed = [each.operands[0] for each in reward.steps if each.op == "tanh"]
    inner = [*(exponent for _, exponent in _exponentials(reward)), *squashed]
    scaled = [
        each for step in inner if isinstance(step, Step) for each in ancestors([step], _scales) if each.op == "div"
    ]
    for step in _one_per_line(scaled):
        angle, scale = _angle(reward, step.operands[0]), step.operands[1]
        if angle and isinstance(scale, int | float) and scale > max(_DEGREES, 3.0 * float(angle.value.abs().max())):
            what = f"the reward divides `{angle.name}`, which is in radians, by {scale:.4g} before it squashes it"
            hint = f"in radians that is {math.radians(scale):.3g}, if degrees were meant"
            yield _at(step, "angle-in-degrees", what, hint, {"divisor": float(scale)})


def _exponentials(reward: ProbedReward) -> Iterator[tuple[Step, Step]]:
    """Exponentials with their exponents: `exp(x)`, and `2.0 ** x`."""
    for step in reward.steps:
        if step.op in _EXPONENTIALS:
            base, exponent = math.e, step.operands[0]
        elif step.op == "pow":
            base, exponent = step.operands[:2]
        else:
            continue
        if isinstance(exponent, Step) and isinstance(base, int | float) and base > 1.0:
            yield step, exponent


def _holds_exponential(exponent: Step) -> bool:
    return any(each.op in _EXPONENTIALS for each in ancestors([exponent], _keeps_size))


def _keeps_size(step: Step, place: int) -> bool:
    """Whether the size of an operand shows in that of the result."""
    if step.op == "where":
        return place > 0
    return step.op not in _TAMING and not (step.op in ("div", "pow") and place == 1)


def _is_dead(exponent: Tensor) -> bool:
    zero, active = (exponent < _ZERO).float(), (exponent < _ONE).float()
    return float(zero.mean()) >= _SOMETIMES and float(zero.sum()) >= _NEARLY_ALWAYS * float(active.sum())


def _scales(step: Step, place: int) -> bool:
    return step.op in _SCALING and place == 0


def _angle(reward: ProbedReward, step: Any) -> Step | None:
    """The input in radians of which a step is the size, a part or the negative."""
    while isinstance(step, Step) and step.op in ("neg", "abs", "getitem", "clone"):
        step = step.operands[0]
    is_angle = isinstance(step, Step) and step.name.removeprefix("prev_") in reward.transitions.facts.radians
    return step if is_angle else None


def _one_per_line(steps: list[Step]) -> list[Step]:
    """The first step of each line: a line may be run many times."""
    return list({step.line: step for step in reversed(steps)}.values())[::-1]


def _at(step: Step, detector: str, message: str, hint: str, evidence: dict[str, float]) -> Finding:
    return finding(detector, message, hint, evidence).model_copy(update={"line": step.line})
