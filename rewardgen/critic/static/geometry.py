"""Detectors of wrong geometry: orientations and angles that are the same but look different."""

from __future__ import annotations

from collections.abc import Iterator

from rewardgen.critic.static.finding import finding, is_first
from rewardgen.critic.static.operators import COMPARISONS
from rewardgen.critic.static.reading import ParsedReward
from rewardgen.critic.static.value import Value, ancestors
from rewardgen.critic.static.wording import is_quaternion, is_wrapped, turns_over, variable_cards
from rewardgen.store.records import Finding, VariableCard

_PERIODIC = COMPARISONS | {"sin", "cos", "tan", "remainder", "atan2", "arctan2", "where", "minimum", "and", "fmod"}
_OFF_CENTRE = 0.5


def quaternion_signs(reading: ParsedReward) -> Iterator[Finding]:
    """Comparisons of quaternions that take q and -q, the same orientation, for different ones."""
    cards = variable_cards(reading.card)
    if not any(is_quaternion(card) for card in cards.values()):
        return
    hint = "use `1.0 - (q * q_target).sum(-1).abs()`, which is the same for q and -q"
    choices: set[int] = set()
    sizes: set[int] = set()
    for name, component in reading.components.items():
        different = [each for each in ancestors(component, _past_choice, choices) if _combines(each, "subtract", cards)]
        unsigned = [each for each in ancestors(component, _past_size, sizes) if _combines(each, "multiply", cards)]
        for value in (different + unsigned)[:1]:
            what = f"compares quaternions as `{value.text()}`, where q and -q are the same orientation"
            yield finding("quaternion-sign", value, what, hint, name)


def unwrapped_angles(reading: ParsedReward) -> Iterator[Finding]:
    """Differences of angles across the place where they jump by a full turn."""
    cards = variable_cards(reading.card)
    told: set[object] = set()
    seen: set[int] = set()
    for name, component in reading.components.items():
        for value in ancestors(component, lambda value, place: value.op not in _PERIODIC, seen):
            what = _jump(value, cards)
            if what and is_first(told, value):
                hint = "wrap it, as in `torch.atan2(torch.sin(d), torch.cos(d))`, or use `1.0 - torch.cos(d)`"
                yield finding("unwrapped-angle", value, what, hint, name)


def _jump(value: Value, cards: dict[str, VariableCard]) -> str:
    if value.op == "subtract" or (value.op == "add" and any(not each.inputs for each in value.operands)):
        wrapped = [each for each in value.operands if _is_angle(each, cards)]
        others = [each for each in value.operands if each not in wrapped]
        off_centre = len(wrapped) == 1 and abs(others[0].number or 0.0) > _OFF_CENTRE
        if len(wrapped) == 2 or off_centre:
            return f"uses `{value.text()}`, which jumps by 2 pi where the angle wraps"
    if value.op in ("abs", "power") and value.operands[0].variable:
        held = value.operands[0]
        card = cards.get(held.variable)
        if card is not None and held.unit == "rad" and turns_over(card) and not card.parts:
            return f"uses the size of `{held.variable}`, which is not wrapped: after a full turn it counts as far off"
    return ""


def _is_angle(value: Value, cards: dict[str, VariableCard]) -> bool:
    card = cards.get(value.variable)
    return card is not None and value.unit == "rad" and is_wrapped(card)


def _combines(value: Value, op: str, cards: dict[str, VariableCard]) -> bool:
    """Whether a value combines a whole quaternion with another."""
    return value.op == op and any(
        operand.op == "input" and operand.variable in cards and is_quaternion(cards[operand.variable])
        for operand in value.operands
    ) and all(operand.shape in (None, (-1, 4), (4,), (1, 4)) for operand in value.operands)  # fmt: skip


def _past_choice(value: Value, place: int) -> bool:
    return value.op not in ("minimum", "where")


def _past_size(value: Value, place: int) -> bool:
    even = value.op == "power" and (value.operands[1].number or 1.0) % 2 == 0
    return value.op not in ("abs", "minimum", "where") and not even
