"""Holds the designer's prediction against what was measured: claims such as `fitness >= 1.5` or `share[speed] >= 0.3`.

What has another form than a claim is left as words.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from rewardgen.analyzer.training_curves import TIME_LIMIT, TrainingCurves, correlation
from rewardgen.store.records import CandidateResult, PredictionOutcome, TaskCard

MOST = 6
"""Claims that are held against the measurements; a designer is asked for three at most."""

_WHOLE = r"(?P<whole>fitness|success[ _]rate|episode[ _]steps)"
_PART = r"(?P<part>ending|share|mean|activation|r)\[(?P<of>[^\]]+)\]"
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?"
_CLAIM = re.compile(
    rf"(?<![\w\[])(?:{_WHOLE}|{_PART})[`\s]*(?P<sign>>=|<=|≥|≤|>|<)[`\s]*(?P<bound>{_NUMBER})(?P<percent>\s*%)?",
    re.IGNORECASE,
)
_SIGNS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "≥": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "≤": operator.le,
    "<": operator.lt,
}


class Claim(NamedTuple):
    """One inequality on a measured number.

    Attributes:
        text: As it is shown, such as `share[speed] >= 0.3`.
        quantity: `fitness`, `success rate`, `episode steps`, `ending`, `share`, `mean`, `activation` or `r`.
        of: The component or the termination cause; empty where the quantity has none.
        sign: One of >=, <=, > and <.
        bound: The number.
    """

    text: str
    quantity: str
    of: str
    sign: str
    bound: float


def claims(prediction: str) -> tuple[Claim, ...]:
    """The claims in a prediction, in order; what is not one is passed over.

    Args:
        prediction: As the designer wrote it.
    """
    return tuple(_claim(found) for found in _CLAIM.finditer(prediction))[:MOST]


def _claim(found: re.Match[str]) -> Claim:
    quantity = (found["whole"] or found["part"]).lower().replace("_", " ")
    of = (found["of"] or "").strip("`'\" ")
    bound = float(found["bound"]) / (100 if found["percent"] else 1)
    sign = {"≥": ">=", "≤": "<="}.get(found["sign"], found["sign"])
    return Claim(f"{quantity}{f'[{of}]' if of else ''} {sign} {bound:g}", quantity, of, sign, bound)


def scored(
    prediction: str, result: CandidateResult, course: TrainingCurves, card: TaskCard
) -> tuple[PredictionOutcome, ...]:
    """What became of each claim: `held` or `failed` with the measured number, or `not checkable`.

    Args:
        prediction: As the designer wrote it.
        result: The candidate's slices; fitness and success rate are those of the clean process.
        course: Its training; all else is of the last evaluation.
        card: The task, for its termination causes.
    """
    return tuple(_outcome(claim, _measured(claim, result, course, card)) for claim in claims(prediction))


def _outcome(claim: Claim, measured: float | None) -> PredictionOutcome:
    if measured is None:
        return PredictionOutcome(claim=claim.text, outcome="not checkable")
    held = _SIGNS[claim.sign](measured, claim.bound)
    return PredictionOutcome(claim=claim.text, outcome="held" if held else "failed", measured=measured)


def _measured(claim: Claim, result: CandidateResult, course: TrainingCurves, card: TaskCard) -> float | None:
    match claim.quantity:
        case "fitness":
            return result.fitness
        case "success rate":
            return result.success_rate
        case "episode steps":
            return course.curve[-1].episode_steps if course.curve else None
        case "ending":
            known = claim.of in (*card.termination_causes, TIME_LIMIT, *course.endings)
            return course.endings.get(claim.of, 0.0) if known and course.endings else None
        case _:
            return _of_component(claim, course)


def _of_component(claim: Claim, course: TrainingCurves) -> float | None:
    points = course.components.get(claim.of)
    if not points:
        return None
    last = points[-1]
    readings = {"share": last.share, "mean": last.mean, "activation": last.activation}
    return readings.get(claim.quantity, correlation([point.fitness_correlation for point in points]))
