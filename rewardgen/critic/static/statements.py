"""Reading statements: what the names hold as the functions of a reward run, and what they return."""

from __future__ import annotations

import ast
from typing import NamedTuple

from rewardgen.critic.static import operators
from rewardgen.critic.static.containers import mapped
from rewardgen.critic.static.expressions import ExpressionReader, Names
from rewardgen.critic.static.value import UNKNOWN, Interval, Value, merged_inputs, number_value, opaque
from rewardgen.records import TaskCard
from rewardgen.reward.scope import Function, Scope


class Assignment(NamedTuple):
    """A local of the entry function at the moment it is given a value."""

    name: str
    value: Value
    node: ast.stmt


class StatementReader(ExpressionReader):
    """Reads the functions of one reward.

    Args:
        scope: Its names.
        card: The task.

    Attributes:
        assignments: Plain assignments to names in the function that is read first.
        titles: What a value was first called, by its key.
    """

    def __init__(self, scope: Scope, card: TaskCard) -> None:
        super().__init__(scope, card)
        self.assignments: list[Assignment] = []
        self.titles: dict[object, str] = {}
        self._returned: list[list[Value]] = []

    def run(self, function: Function, names: Names) -> Value:
        """What a function returns."""
        if isinstance(function, ast.Lambda):
            return self.read(function.body, names)
        returned = self.returns(function, names)
        if not returned:
            return number_value(None, function)
        value = returned[0]
        for each in returned[1:]:
            value = operators.joined(value, each)
        return value

    def returns(self, function: ast.FunctionDef, names: Names) -> list[Value]:
        """What a function returns, at each of its returns that may be reached."""
        self._returned.append([])
        self.block(function.body, names)
        return self._returned.pop()

    def block(self, statements: list[ast.stmt], names: Names) -> bool:
        """Read statements in order; whether a return or a raise surely ended them."""
        return any(self._statement(statement, names) for statement in statements)

    def _statement(self, node: ast.stmt, names: Names) -> bool:
        if isinstance(node, ast.Assign):
            self._assign(node, node.targets, node.value, names)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._assign(node, [node.target], node.value, names)
        elif isinstance(node, ast.AugAssign):
            self._change(node, names)
        elif isinstance(node, ast.Expr):
            self.read(node.value, names)
        elif isinstance(node, ast.If):
            return self._branch(node, names)
        elif isinstance(node, ast.For):
            self._repeat(node, names)
        elif isinstance(node, ast.With):
            return self.block(node.body, names)
        elif isinstance(node, ast.Return):
            self._returned[-1].append(self.read(node.value, names) if node.value else number_value(None, node))
        elif isinstance(node, ast.Break | ast.Continue):
            self.complete = False
        return isinstance(node, ast.Return | ast.Raise)

    def _assign(self, node: ast.stmt, targets: list[ast.expr], value: ast.expr, names: Names) -> None:
        if isinstance(value, ast.Lambda):
            return
        made = self.read(value, names)
        for target in targets:
            if isinstance(target, ast.Subscript):
                self._assign_entry(target, made, names)
                continue
            self.bind(target, made, names)
            if isinstance(target, ast.Name):
                self._note(target.id, made, node)

    def _note(self, name: str, value: Value, node: ast.stmt) -> None:
        if len(self._returned) == 1:
            self.assignments.append(Assignment(name, value, node))
        self.titles.setdefault(value.key, name)
        if len(value.terms) == 1:
            self.titles.setdefault(next(iter(value.terms)), name)

    def _change(self, node: ast.AugAssign, names: Names) -> None:
        load = ast.copy_location(ast.BinOp(_loaded(node.target), node.op, node.value), node)
        made = self.read(load, names)
        if isinstance(node.target, ast.Subscript):
            self._assign_entry(node.target, made, names)
        elif isinstance(node.target, ast.Name):
            names[node.target.id] = made
            self._note(node.target.id, made, node)

    def _assign_entry(self, target: ast.Subscript, made: Value, names: Names) -> None:
        """`x[places] = made`: the name holds a changed copy from here on."""
        if not isinstance(target.value, ast.Name):
            self.complete = False
            return
        old, name = self.read(target.value, names), target.value.id
        places = self.read_all(target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice], names)
        key = places[0].constant if len(places) == 1 else UNKNOWN
        if isinstance(old.items, dict):
            known = isinstance(key, str | int | float)
            self.complete &= known
            names[name] = mapped({**old.items, key if known else ast.unparse(target.slice): made}, old.node)
            return
        values = (old, *places, made)
        bounds = Interval(min(old.bounds.low, made.bounds.low), max(old.bounds.high, made.bounds.high))
        names[name] = Value("assigned", values, target, bounds, None, merged_inputs(values), old.shape)

    def _branch(self, node: ast.If, names: Names) -> bool:
        test = self.condition(node.test, names)
        if not isinstance(test.constant, type(UNKNOWN)):
            return self.block(node.body if test.constant else node.orelse, names)
        before = dict(names)
        other = dict(names)
        ended = self.block(node.body, names)
        ended_other = self.block(node.orelse, other)
        if ended or ended_other:
            kept = names if ended_other else other
            kept = dict(kept) if not (ended and ended_other) else before
            names.clear()
            names.update(kept)
            return ended and ended_other
        for name in {*names, *other}:
            if name in names and name in other:
                names[name] = operators.joined(names[name], other[name])
            else:
                names[name] = names.get(name) or other[name]
        return False

    def _repeat(self, node: ast.For, names: Names) -> None:
        value = self.read(node.iter, names)
        items = self.unfold(value)
        if items is not None:
            for item in items:
                self.bind(node.target, item, names)
                self.block(node.body, names)
            self.block(node.orelse, names)
            return
        self.complete = False
        before = dict(names)
        self.bind(node.target, opaque("item", (value,), node.iter), names)
        self.block(node.body, names)
        for name, old in before.items():
            if names[name] is not old:
                # It may have changed any number of times.
                names[name] = _widened(operators.joined(old, names[name]))


def _widened(value: Value) -> Value:
    return opaque("repeated", (value,), value.node) if value.items is None else value


def _loaded(target: ast.expr) -> ast.expr:
    """A target read instead of written."""
    if isinstance(target, ast.Name):
        return ast.copy_location(ast.Name(target.id, ast.Load()), target)
    if isinstance(target, ast.Subscript):
        return ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
    return target
