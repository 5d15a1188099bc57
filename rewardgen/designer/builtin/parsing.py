"""From canonical source back to a genome: the source is the truth, nothing is hidden in it.

The shapes' templates are matched against the source's syntax tree. A reward that another hand wrote does not match, and
is then no parent for structural operators.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache

from rewardgen.designer.builtin.genome import Factor, Genome, ReadingForm, Term, TermInput
from rewardgen.designer.builtin.rendering import GATE_FLOOR
from rewardgen.designer.builtin.shapes import SHAPES

_X, _BEFORE, _PART, _ROLE = "X__", "BEFORE__", "PART__", "ROLE__"
_GATE = ast.parse(f"{GATE_FLOOR}{_X}", mode="eval").body


class _Foreign(Exception):
    """The source is not in canonical form."""


def parse(source: str) -> Genome | None:
    """Read a genome from a reward's source.

    Args:
        source: A reward program.

    Returns:
        The genome whose rendering is this source, or None if the source is not in the canonical form.
    """
    try:
        (function,) = ast.parse(source).body
        return _Reader(function).genome() if isinstance(function, ast.FunctionDef) else None
    except (_Foreign, SyntaxError, ValueError):
        return None


class _Reader:
    """Reads one function: its defaults, then its statements in order."""

    def __init__(self, function: ast.FunctionDef) -> None:
        arguments = function.args
        self.defaults = {
            each.arg: float(ast.literal_eval(default))
            for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
            if default is not None
        }
        self.readings: dict[str, TermInput] = {each.arg: TermInput(each.arg) for each in arguments.args}
        self.expressions: dict[str, ast.expr] = {}
        self.body = function.body

    def genome(self) -> Genome:
        components = self._statements()
        gates = {name: self._gate(name, node) for name, node in self.expressions.items() if name not in components}
        return Genome(tuple(self._term(name, gates) for name in components))

    def _statements(self) -> list[str]:
        for statement in self.body:
            if isinstance(statement, ast.Return) and isinstance(statement.value, ast.Dict):
                return _component_names(statement.value)
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                self._assign(statement.targets[0].id, statement.value)
            elif not _is_docstring(statement):
                raise _Foreign
        raise _Foreign

    def _assign(self, name: str, value: ast.expr) -> None:
        reading = _reading(value)
        if reading:
            self.readings[name] = reading
        else:
            self.expressions[name] = value

    def _gate(self, name: str, node: ast.expr) -> Factor:
        found: dict[str, ast.expr] = {}
        if not _match(_GATE, node, found):
            raise _Foreign
        return self._factor(name, found[_X])

    def _term(self, name: str, gates: Mapping[str, Factor]) -> Term:
        if name not in self.expressions:
            raise _Foreign
        first, *others = _product(self.expressions[name], set(gates))
        penalty = isinstance(first, ast.UnaryOp)
        weight = first.operand if isinstance(first, ast.UnaryOp) else first
        if not (isinstance(weight, ast.Name) and weight.id == f"{name}_weight" and weight.id in self.defaults):
            raise _Foreign
        factor = self._factor(name, others[0])
        if SHAPES[factor.shape].penalty != penalty:
            raise _Foreign
        used = tuple(gates[node.id] for node in others[1:] if isinstance(node, ast.Name))
        return Term(factor, self.defaults[weight.id], used)

    def _factor(self, name: str, node: ast.expr) -> Factor:
        for shape in SHAPES:
            found: dict[str, ast.expr] = {}
            reading = self._read(found) if _match(_pattern(shape), node, found) else None
            if reading:
                return Factor(name, shape, reading, self._constants(name, shape, found))
        raise _Foreign

    def _read(self, found: Mapping[str, ast.expr]) -> TermInput | None:
        now, before = found[_X], found.get(_BEFORE)
        if not isinstance(now, ast.Name):
            return None
        if before is not None and not (isinstance(before, ast.Name) and before.id == f"prev_{now.id}"):
            return None
        return self.readings.get(now.id)

    def _constants(self, name: str, shape: str, found: Mapping[str, ast.expr]) -> tuple[tuple[str, float], ...]:
        roles = SHAPES[shape].roles
        used = [found[_ROLE + role] for role in roles]
        names = [node.id if isinstance(node, ast.Name) else "" for node in used]
        if names != [f"{name}_{role}" for role in roles] or any(each not in self.defaults for each in names):
            raise _Foreign
        return tuple((role, self.defaults[each]) for role, each in zip(roles, names, strict=True))


def _component_names(returned: ast.Dict) -> list[str]:
    keys = [key.value if isinstance(key, ast.Constant) else None for key in returned.keys]
    values = [value.id if isinstance(value, ast.Name) else "" for value in returned.values]
    if keys != values:
        raise _Foreign
    return values


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _product(node: ast.expr, gates: set[str]) -> list[ast.expr]:
    """Split `weight * shape * gate * gate`: gates from the right, then the weight from the left."""
    right: list[ast.expr] = []
    while isinstance(node, ast.BinOp) and isinstance(node.right, ast.Name) and node.right.id in gates:
        right.insert(0, node.right)
        node = node.left
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)):
        raise _Foreign
    return [node.left, node.right, *right]


def _reading(node: ast.expr) -> TermInput | None:
    """A part, length or distance of inputs, or None for any other expression."""
    for form, pattern in _FORMS.items():
        found: dict[str, ast.expr] = {}
        reading = _bound_reading(form, found) if _match(pattern, node, found) else None
        if reading:
            return reading
    return None


def _bound_reading(form: ReadingForm, found: Mapping[str, ast.expr]) -> TermInput | None:
    names = [node.id if isinstance(node, ast.Name) else None for key, node in found.items() if key != _PART]
    part = found.get(_PART)
    index = part.value if isinstance(part, ast.Constant) and isinstance(part.value, int) else None
    if None in names or (part is not None and index is None):
        return None
    return TermInput(names[0] or "", index, form, "".join(name or "" for name in names[1:]))


_FORMS: Mapping[ReadingForm, ast.expr] = {
    "value": ast.parse(f"{_X}[:, {_PART}]", mode="eval").body,
    "norm": ast.parse(f"{_X}.norm(dim=-1)", mode="eval").body,
    "gap_norm": ast.parse(f"({_X} - {_BEFORE}).norm(dim=-1)", mode="eval").body,
    "gap": ast.parse(f"({_X} - {_BEFORE}).abs()", mode="eval").body,
}


@cache
def _pattern(shape: str) -> ast.expr:
    each = SHAPES[shape]
    fields = {role: _ROLE + role for role in each.roles}
    return ast.parse(each.template.format(x=_X, before=_BEFORE, **fields), mode="eval").body


def _match(pattern: ast.AST, node: ast.AST, found: dict[str, ast.expr]) -> bool:
    """Whether a tree has the pattern's form. A name ending in `__` or starting with `ROLE__` matches any one node."""
    if isinstance(pattern, ast.Name) and (pattern.id.endswith("__") or pattern.id.startswith(_ROLE)):
        return isinstance(node, ast.expr) and _bind(pattern.id, node, found)
    if type(pattern) is not type(node):
        return False
    return all(_match_field(getattr(pattern, name), getattr(node, name), found) for name in _fields(pattern))


def _fields(node: ast.AST) -> list[str]:
    return [name for name in node._fields if name not in ("ctx", "kind", "type_comment")]


def _match_field(pattern: object, value: object, found: dict[str, ast.expr]) -> bool:
    if isinstance(pattern, ast.AST):
        return isinstance(value, ast.AST) and _match(pattern, value, found)
    if isinstance(pattern, list):
        same = isinstance(value, list) and len(pattern) == len(value)
        return same and all(_match_field(a, b, found) for a, b in zip(pattern, value, strict=True))  # type: ignore[arg-type]
    return pattern == value


def _bind(name: str, node: ast.expr, found: dict[str, ast.expr]) -> bool:
    known = found.setdefault(name, node)
    return ast.dump(known) == ast.dump(node)
