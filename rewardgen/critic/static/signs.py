"""Detectors of terms that pay for what is not wanted."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import TypeGuard

from rewardgen.critic.static.finding import finding, number
from rewardgen.critic.static.reading import ParsedReward
from rewardgen.critic.static.trends import Quantity, Trends
from rewardgen.critic.static.value import Value, told_from_operands
from rewardgen.critic.static.wording import is_cost, is_good, is_switch, part_names, variable_cards
from rewardgen.store.records import Finding, VariableCard

_COST_NAME = re.compile(r"(^|_)(penalty|penalties|cost|costs|penalise|penalize)($|_)")
_LARGEST_WEIGHT = 10**9
_HINGES = frozenset(["clamp", "relu", "maximum", "minimum", "where", "less", "greater", "less_equal", "greater_equal"])


def rewarded_costs(reading: ParsedReward) -> Iterator[Finding]:
    """Costs that are added instead of subtracted."""
    for name, component, moves in _moving(reading):
        quantity = next((each for each, sign in moves.items() if sign > 0 and _is_cost(reading, each)), None)
        hint = "give it a negative weight, or pay for little of it: `torch.exp(-x / temperature)`"
        if quantity is not None and not _is_penalty(component):
            what = f"pays for {_words(quantity)} in `{name}`: the larger, the higher the reward"
            yield finding("rewards-cost", component, what, hint, name)
        elif _COST_NAME.search(name) and _only_grows(component, moves):
            what = f"adds `{name}`, which is never negative"
            yield finding("rewards-cost", component, what, hint, name, evidence={"least value": component.bounds.low})


def double_negatives(reading: ParsedReward) -> Iterator[Finding]:
    """Weights that are negative already, with a minus sign in front."""
    negative = _negative_constants(reading)
    for node in ast.walk(reading.tree):
        for factor in _subtracted(node):
            if factor in negative:
                what = f"subtracts a multiple of `{factor}`, which is {number(negative[factor])}: the two signs cancel"
                hint = "keep one of the two minus signs: a cost has a negative weight, or is subtracted"
                yield finding("double-negative", node, what, hint, evidence={"constant": negative[factor]})


def _subtracted(node: ast.AST) -> Iterator[str]:
    """Names of the factors of a product that is subtracted or negated: of `-w * x`, `-(w * x)`, and `y - w * x`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and _is_negated(node.left):
        yield from _factors(node.left.operand)
    elif _is_negated(node) and isinstance(node.operand, ast.BinOp):
        yield from _factors(node.operand)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and isinstance(node.right, ast.BinOp):
        yield from _factors(node.right)


def _is_negated(node: ast.AST) -> TypeGuard[ast.UnaryOp]:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)


def _factors(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        yield from _factors(node.left)
        yield from _factors(node.right)


def _negative_constants(reading: ParsedReward) -> dict[str, float]:
    """Tunable constants and module constants below zero, by name."""
    arguments = reading.entry.args
    known = {each.arg: _literal(value) for each, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)}
    for node in reading.tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            known[node.targets[0].id] = _literal(node.value)
    return {name: value for name, value in known.items() if value < 0.0}


def _literal(node: ast.expr | None) -> float:
    if node is None or not _is_negated(node) or not isinstance(node.operand, ast.Constant):
        return 0.0
    value = node.operand.value
    return -value if isinstance(value, float) or (isinstance(value, int) and value < _LARGEST_WEIGHT) else 0.0


def penalised_goals(reading: ParsedReward) -> Iterator[Finding]:
    """Terms that fall with what the task wants more of."""
    cards = variable_cards(reading.card)
    hinges: dict[int, bool] = {}
    for name, component, moves in _moving(reading):
        for quantity, sign in moves.items():
            card = cards.get(quantity.name)
            wanted = card is not None and (is_good(card) or _is_forward(reading, card))
            alone = component.inputs == {quantity.name} and not quantity.name.startswith("prev_")
            hinged = card is not None and not is_switch(card) and told_from_operands(component, _has_hinge, hinges)
            if wanted and alone and sign < 0 and quantity.kind == "value" and not hinged:
                what = f"lowers `{name}` as `{quantity.name}` grows, which the task wants"
                hint = "check the sign of this term"
                yield finding("penalises-goal", component, what, hint, name)


def paid_pacing(reading: ParsedReward) -> Iterator[Finding]:
    """Terms that pay for change in one direction and do not charge for the way back."""
    for name, component, moves in _moving(reading):
        for quantity, sign in moves.items():
            if sign > 0 and quantity.kind in ("step", "gain") and not _is_limb(reading, quantity.name):
                what = f"pays in `{name}` for each change of `{quantity.name}` but charges nothing for the way back"
                hint = "drop the `abs` or lower clamp, so that going back and forth sums to zero"
                yield finding("pacing-pays", component, f"{what}: moving to and fro collects it for ever", hint, name)


def _moving(reading: ParsedReward) -> Iterator[tuple[str, Value, Trends]]:
    for name, component in reading.components.items():
        yield name, component, reading.trends[name]


def _is_cost(reading: ParsedReward, quantity: Quantity) -> bool:
    if quantity.name == "action":
        return quantity.kind in ("size", "step")
    if quantity.kind == "error" or quantity.name.startswith("prev_"):
        return quantity.kind == "error" and not quantity.name.startswith("prev_")
    card = variable_cards(reading.card).get(quantity.name)
    return card is not None and is_cost(card) and quantity.kind in ("size", "value") and _is_amount(card, quantity)


def _is_limb(reading: ParsedReward, name: str) -> bool:
    """Whether a quantity has named parts that are not coordinates: limbs and motors have to move to and fro."""
    parts = {part.lower() for part in part_names(reading.card, name)}
    return name == "action" or bool(parts - {"x", "y", "z"})


def _is_amount(card: VariableCard, quantity: Quantity) -> bool:
    """Whether a large value means much of it: its size does, and itself if it is never negative."""
    return quantity.kind == "size" or min(card.minimum, default=-1.0) >= 0.0


def _is_penalty(component: Value) -> bool:
    """Whether a component is never positive: it may charge less for more, but never pays."""
    return component.bounds.high <= 0.0


def _only_grows(component: Value, moves: Trends) -> bool:
    positive = component.bounds.low >= 0.0 and component.bounds.high > 0.0 and bool(component.inputs)
    return positive and bool(moves) and all(sign > 0 for sign in moves.values())


def _is_forward(reading: ParsedReward, card: VariableCard) -> bool:
    """Whether a variable is the speed that the fitness measures."""
    along = card.unit == "m/s" and ("forward" in card.meaning.lower() or "+x" in card.meaning)
    return along and "forward" in reading.card.fitness.lower()


def _has_hinge(value: Value, known: Mapping[int, bool]) -> bool:
    """Whether a term acts only beyond a limit: charging for too much of a good thing is sound."""
    return value.op in _HINGES or any(known[id(each)] for each in value.operands)


def _words(quantity: Quantity) -> str:
    return {
        "error": f"the distance of `{quantity.name}` from its target",
        "step": f"changes of `{quantity.name}`",
        "size": f"the size of `{quantity.name}`",
    }.get(quantity.kind, f"`{quantity.name}`")
