"""Detectors of rewards that are the task's own measure in all but name."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from rewardgen.critic.static.finding import finding
from rewardgen.critic.static.operators import COMPARISONS
from rewardgen.critic.static.reading import Reading
from rewardgen.critic.static.trends import unscaled
from rewardgen.critic.static.value import Value
from rewardgen.critic.static.wording import quantities, variable_cards
from rewardgen.records import Finding, VariableCard

_NAMES = re.compile(r"(^|_)(success|succeeded|fitness|score|gt|ground_truth|consecutive_successes|metric|oracle)($|_)")
_WORD = re.compile(r"[a-z]{4,}")
_CLOSE = 0.02
_DENSE = "pay for coming nearer to it as well: a reward that only repeats the measure teaches nothing on the way"


def rederived_success(reading: Reading) -> Iterator[Finding]:
    """Components that test what success or fitness tests, or that are called so."""
    for name, component in reading.components.items():
        if _NAMES.search(name):
            what = f"calls a component `{name}`, as if it were the task's own measure"
            yield finding("rederives-success", component, what, "name it after the state that it pays for", name)
            continue
        found = [(test, limit) for test in _tests(component) if (limit := _limit(reading, test)) is not None]
        if len(found) > 1 or (found and not _is_dense(reading, found[0][0])):
            told = " and ".join(f"`{test.text()}`" for test, _ in found[:3])
            what = f"repeats the task's own test in `{name}`: {told}, as on the card"
            evidence = {f"threshold {place}": limit for place, (_, limit) in enumerate(found, 1)}
            yield finding("rederives-success", found[0][0], what, _DENSE, name, evidence=evidence)


def _tests(component: Value) -> list[Value]:
    """The comparisons that a component consists of, if it is nothing but tests with a weight; else none."""
    value = unscaled(component)
    while value.op in ("where", "bool") and all(not each.inputs for each in value.operands[1:]):
        value = unscaled(value.operands[0])
    if value.op in COMPARISONS:
        return [value]
    if value.op in ("and", "multiply"):
        parts = [_tests(each) for each in value.operands]
        return [test for part in parts for test in part] if all(parts) else []
    return []


def _is_dense(reading: Reading, test: Value) -> bool:
    """Whether another component pays for what a test looks at, and by how much."""
    others = [component for component in reading.components.values() if not _tests(component)]
    return any(test.inputs & component.inputs for component in others)


def _limit(reading: Reading, test: Value) -> float | None:
    """The number of the card that a comparison repeats."""
    left, right = test.operands
    held, constant = (left, right.number) if right.number is not None else (right, left.number)
    source = held.operands[0] if held.op == "abs" else held
    card = variable_cards(reading.card).get(source.variable)
    if card is None or constant is None:
        return None
    for text in (reading.card.success, reading.card.fitness):
        for found in quantities(text) if _is_mentioned(card, text) else ():
            same = found.unit == card.unit and math.isclose(found.number, constant, rel_tol=_CLOSE)
            cosine = found.unit == "rad" and card.unit == "1" and abs(math.cos(found.number) - constant) < _CLOSE
            if found.unit and (same or cosine):
                return constant if cosine else found.number
    return None


def _is_mentioned(card: VariableCard, text: str) -> bool:
    """Whether a text shares a word with a variable's name or meaning."""
    own = set(_WORD.findall(f"{card.name.replace('_', ' ')} {card.meaning}".lower()))
    return bool(own.intersection(_WORD.findall(text.lower())) - {"with", "from", "that", "than", "control", "step"})
