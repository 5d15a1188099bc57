"""Detectors of rewards that are the task's own measure in all but name."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from rewardgen.critic.static.finding import finding
from rewardgen.critic.static.operators import COMPARISONS
from rewardgen.critic.static.reading import ParsedReward
from rewardgen.critic.static.trends import unscaled
from rewardgen.critic.static.value import Value
from rewardgen.critic.static.wording import quantities, variable_cards
from rewardgen.store.records import Finding, VariableCard

_NAMES = re.compile(r"(^|_)(success|succeeded|fitness|score|gt|ground_truth|consecutive_successes|metric|oracle)($|_)")
_WORD = re.compile(r"[a-z]{4,}")
_CLOSE = 0.02
_DENSE = "pay for coming nearer to it as well: a reward that only repeats the measure teaches nothing on the way"


def rederived_success(reading: ParsedReward) -> Iterator[Finding]:
    """Components that test what success or fitness tests, or that are called so."""
    tests = {name: _tests(component) for name, component in reading.components.items()}
    dense = frozenset[str]().union(*(reading.components[name].inputs for name, found in tests.items() if not found))
    limits = {id(test): _limit(reading, test) for found in tests.values() for test in found}
    for name, component in reading.components.items():
        if _NAMES.search(name):
            what = f"calls a component `{name}`, as if it were the task's own measure"
            yield finding("rederives-success", component, what, "name it after the state that it pays for", name)
            continue
        found = [(test, limit) for test in tests[name] if (limit := limits[id(test)]) is not None]
        # Another component may pay for what the one test looks at, and by how much.
        if len(found) > 1 or (found and not found[0][0].inputs & dense):
            told = " and ".join(f"`{test.text()}`" for test, _ in found[:3])
            what = f"repeats the task's own test in `{name}`: {told}, as on the card"
            evidence = {f"threshold {place}": limit for place, (_, limit) in enumerate(found, 1)}
            yield finding("rederives-success", found[0][0], what, _DENSE, name, evidence=evidence)


def _tests(component: Value) -> list[Value]:
    """The comparisons that a component consists of, if it is nothing but tests with a weight; else none."""
    found: list[Value] = []
    seen: set[int] = set()
    waiting = [component]
    while waiting:
        value = unscaled(waiting.pop())
        if id(value) in seen:
            continue
        seen.add(id(value))
        if value.op in COMPARISONS:
            found.append(value)
        elif value.op in ("where", "bool") and all(not each.inputs for each in value.operands[1:]):
            waiting.append(value.operands[0])
        elif value.op in ("and", "multiply"):
            waiting += reversed(value.operands)
        else:
            return []
    return found


def _limit(reading: ParsedReward, test: Value) -> float | None:
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
