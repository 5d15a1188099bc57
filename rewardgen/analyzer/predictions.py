"""Compare the designer's prediction with the measurements: claims such as `fitness >= 1.5` or `share[speed] >= 0.3`."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from rewardgen.analyzer.detectors.components import NEGLIGIBLE_SHARE
from rewardgen.store.measurements import TIME_LIMIT, ComponentPoint, TrainingCurves
from rewardgen.store.records import CandidateResult, PredictionOutcome, TaskCard

MOST = 6
"""Most claims that are compared; the prompt asks for three at most."""

_WHOLE = r"(?P<whole>fitness|success[ _]rate|episode[ _]steps)"
_PART = r"(?P<part>ending|share|mean|activation)\[(?P<of>[^\[\]\n]{1,100})\]"
_NUMBER = r"[-+]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)\.?\d*|\.\d+)(?:e[-+]?\d+)?(?![\w]|[.,]\d)"
_CLAIM = re.compile(
    rf"(?<![\w\[])(?:{_WHOLE}|{_PART})[`\s]*(?P<sign>>=|<=|≥|≤|>|<)[`\s]*(?P<bound>{_NUMBER})(?P<percent>\s*%)?",
    re.IGNORECASE,
)
_SIGNS = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}


class Claim(NamedTuple):
    """One inequality on a measured number.

    Attributes:
        text: The claim in plain form, such as `share[speed] >= 0.3`.
        quantity: `fitness`, `success rate`, `episode steps`, `ending`, `share`, `mean` or `activation`.
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
    """Return the claims in a prediction, in order; other words are skipped."""
    parsed = []
    for match in islice(_CLAIM.finditer(prediction), MOST):
        quantity = (match["whole"] or match["part"]).lower().replace("_", " ")
        of = (match["of"] or "").strip("`'\" ")
        bound = float(match["bound"].replace(",", "")) / (100 if match["percent"] else 1)
        sign = {"≥": ">=", "≤": "<="}.get(match["sign"], match["sign"])
        parsed.append(Claim(f"{quantity}{f'[{of}]' if of else ''} {sign} {bound:g}", quantity, of, sign, bound))
    return tuple(parsed)


def prediction_fault(prediction: str) -> str:
    """Return why a prediction cannot be checked; empty for a readable or a missing one."""
    return "" if not prediction.strip() or claims(prediction) else "unreadable: no claim such as `fitness >= 0.5`"


def scored(
    prediction: str, result: CandidateResult, curves: TrainingCurves, card: TaskCard
) -> tuple[PredictionOutcome, ...]:
    """Return the outcome of each claim: `held` or `failed` with the measured number, or `not checkable`.

    A claim such as `mean[bonus] >= 0` fails for a component that is dead at the end. Fitness and success rate come from
    the clean evaluation, all other numbers from the last evaluation in training.
    """
    outcomes = []
    for claim in claims(prediction):
        measured = _measured(claim, result, curves, card)
        outcome, dead = "not checkable", False
        if measured is not None:
            dead = _claims_life(claim, curves.components)
            outcome = "held" if _SIGNS[claim.sign](measured, claim.bound) and not dead else "failed"
        outcomes.append(PredictionOutcome(claim=claim.text, outcome=outcome, measured=measured, dead=dead))
    return tuple(outcomes)


def _claims_life(claim: Claim, components: Mapping[str, Sequence[ComponentPoint]]) -> bool:
    """Return True if a claim says that a dead component does something."""
    if claim.sign not in (">", ">=") or claim.quantity == "ending" or claim.of not in components:
        return False
    last = components[claim.of][-1]
    # A negative lower bound on a mean limits a cost, and a dead cost keeps it.
    return last.share < NEGLIGIBLE_SHARE and not (claim.quantity == "mean" and min(last.mean, claim.bound) < 0)


def _measured(claim: Claim, result: CandidateResult, curves: TrainingCurves, card: TaskCard) -> float | None:
    points = curves.components.get(claim.of)
    match claim.quantity:
        case "fitness":
            return result.fitness
        case "success rate":
            return result.success_rate
        case "episode steps":
            return curves.curve[-1].episode_steps if curves.curve else None
        case "ending":
            exists = claim.of in (*card.termination_causes, TIME_LIMIT, *curves.terminations)
            return curves.terminations.get(claim.of, 0.0) if exists and curves.terminations else None
        case share_mean_or_activation:
            return getattr(points[-1], share_mean_or_activation) if points else None
