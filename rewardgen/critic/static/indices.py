"""Detectors of entries of vectors: places that do not exist, and places whose name is not told or another's."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from rewardgen.critic.static.finding import finding, is_first
from rewardgen.critic.static.reading import ParsedReward
from rewardgen.critic.static.value import Value
from rewardgen.critic.static.wording import part_names
from rewardgen.store.records import Finding

_SIDES = (("left", "right"), ("front", "back"), ("upper", "lower"))
_NAGGING = 3
_AXES = frozenset("wxyz")
_ENTRYWISE = frozenset(["add", "subtract", "multiply", "divide"])
_WORDS = re.compile(r"[a-z]+|\d+")


def missing_places(reading: ParsedReward) -> Iterator[Finding]:
    """Indices outside a variable's parts."""
    told: set[int] = set()
    for event in reading.events:
        if event.kind == "index" and id(event.node) not in told:
            told.add(id(event.node))
            value = event.values[0]
            parts = part_names(reading.card, value.variable)
            named = ", ".join(f"{place} {part}" for place, part in enumerate(parts) if part)
            what = f"reads `{_text(event.node)}`, which does not exist: {event.detail}"
            hint = f"its parts are {named}" if named else "index the axes that it has"
            yield finding("index-out-of-range", event.node, what, hint, severity="reject")


def empty_slices(reading: ParsedReward) -> Iterator[Finding]:
    """Slices beyond the last part, which hold nothing: their sum is zero."""
    told: set[int] = set()
    for event in reading.events:
        if event.kind == "slice" and id(event.node) not in told:
            told.add(id(event.node))
            what = f"takes the slice `{_text(event.node)}`, which is empty"
            parts = part_names(reading.card, event.values[0].variable)
            hint = f"its parts are {', '.join(f'{place} {part}' for place, part in enumerate(parts))}"
            yield finding("empty-slice", event.node, what, hint)


def misnamed_parts(reading: ParsedReward) -> Iterator[Finding]:
    """Entries that are given the name of another entry."""
    for each in reading.assignments:
        own, parts = each.value.part, part_names(reading.card, each.value.variable)
        if each.value.op != "part" or not own:
            continue
        name = set(_WORDS.findall(each.name.lower()))
        named = [part for part in parts if set(_WORDS.findall(part.lower())) <= name]
        if (named and own not in named) or _is_other_side(name, own):
            what = f"calls `{each.value.text()}` `{each.name}`, but the task calls it `{own}`"
            hint = f"its parts are {', '.join(f'{place} {part}' for place, part in enumerate(parts))}"
            yield finding("misnamed-part", each.node, what, hint)


def misordered_parts(reading: ParsedReward) -> Iterator[Finding]:
    """Two vectors that list the same parts in different orders, combined entry by entry."""
    told: set[object] = set()
    for value in reading.values:
        vectors = [_vector(each) for each in value.operands[:2]] if value.op in _ENTRYWISE else []
        if len(vectors) != 2:
            continue
        one, other = (part_names(reading.card, each) for each in vectors)
        if one != other and len(set(one)) > 1 and sorted(one) == sorted(other) and is_first(told, value):
            first, second = (
                f"`{each}` ({', '.join(parts)})" for each, parts in zip(vectors, (one, other), strict=True)
            )
            what = f"combines {first} and {second} entry by entry: the same parts in different orders"
            hint = "put the entries of one into the order of the other, by index, before combining them"
            yield finding("misordered-parts", value, what, hint)


def _vector(value: Value) -> str:
    """The whole input that a value is, but for sign and size."""
    while value.op in ("abs", "negative"):
        value = value.operands[0]
    return value.variable if value.op == "input" else ""


def magic_indices(reading: ParsedReward) -> Iterator[Finding]:
    """Entries of named parts that are read by number, with no word on which they are; told once."""
    lines = reading.source.split("\n")
    nameless: dict[str, tuple[Value, str]] = {}
    looked_at: set[object] = set()
    for value in reading.values:
        names = _parts_read(reading, value)
        place = (id(value.node), *names)
        if not names or place in looked_at:
            continue
        looked_at.add(place)
        if isinstance(value.node, ast.Subscript) and not _is_named(reading, value, names, lines):
            nameless.setdefault(value.text(), (value, " and ".join(names)))
    if len(nameless) >= _NAGGING:
        told = sorted(nameless.items(), key=lambda item: item[1][0].line or 0)
        listed = ", ".join(f"`{text}` is {names}" for text, (_, names) in told[:6])
        hint = "give each a name of its own, as in `thigh = joint_position[:, 0]`, and check that they are meant"
        yield finding("magic-index", told[0][1][0], f"reads parts by number: {listed}", hint)


def _parts_read(reading: ParsedReward, value: Value) -> Sequence[str]:
    """Names of the parts that a subscript of an input picks, if it picks some and not all."""
    if value.op == "part" and value.part and value.part not in _AXES:
        return (value.part,)
    if value.op != "entry" or not value.operands or value.operands[0].op != "input":
        return ()
    whole = value.operands[0]
    parts = part_names(reading.card, whole.variable)
    place = value.node.slice if isinstance(value.node, ast.Subscript) else None
    ends = place.elts[-1] if isinstance(place, ast.Tuple) and place.elts else None
    if not isinstance(ends, ast.Slice) or value.shape is None or len(value.shape) != 2:
        return ()
    first, last = (each.value if isinstance(each, ast.Constant) else None for each in (ends.lower, ends.upper))
    picked = parts[first if isinstance(first, int) else None : last if isinstance(last, int) else None]
    return picked if len(picked) == value.shape[1] < len(parts) and all(picked) else ()


def _is_named(reading: ParsedReward, value: Value, names: Sequence[str], lines: Sequence[str]) -> bool:
    """Whether the line tells what is read, by a name, a comment, or a named index."""
    node = value.node
    assert isinstance(node, ast.Subscript)
    if any(isinstance(each, ast.Name) for each in ast.walk(node.slice)):
        return True
    before = lines[node.lineno - 2].strip() if node.lineno > 1 else ""
    around = [before if before.startswith("#") else "", *lines[node.lineno - 1 : node.end_lineno]]
    said = {_stem(word) for line in around for word in _WORDS.findall(line.lower())}
    return any(_stem(word) in said for name in names for word in _WORDS.findall(name.lower()) if not word.isdigit())


def _stem(word: str) -> str:
    return {"feet": "foot"}.get(word, word.removesuffix("s"))


def _is_other_side(name: set[str], own: str) -> bool:
    words = set(_WORDS.findall(own.lower()))
    return any((a in name and b in words and b not in name) or (b in name and a in words and a not in name)
               for a, b in _SIDES)  # fmt: skip


def _text(node: ast.AST | None) -> str:
    return ast.unparse(node)[:60] if isinstance(node, ast.expr) else "an entry"
