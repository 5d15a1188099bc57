"""Reading statements: what the names hold as the functions of a reward run, and what they return."""

from __future__ import annotations

import ast
from typing import Literal, NamedTuple

from rewardgen.critic.static.containers import mapped
from rewardgen.critic.static.expressions import ExpressionReader, Names
from rewardgen.critic.static.value import UNKNOWN, Interval, Unknown, Value, merged_inputs, number_value, opaque
from rewardgen.reward.scope import Function, Scope
from rewardgen.store.records import TaskCard

End = Literal["", "turn", "loop", "function"]
"""What surely ends where statements do: nothing, a turn of the loop, the loop, or the function."""
_WEAKEST: tuple[End, ...] = ("turn", "loop", "function")


class Loop(NamedTuple):
    """What the names hold where a loop may be left early."""

    turns: list[Names]
    whole: list[Names]


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
        self._loops: list[Loop] = []
        self._changes: dict[int, ast.BinOp] = {}

    def run(self, function: Function, names: Names) -> Value:
        """What a function returns."""
        if isinstance(function, ast.Lambda):
            return self.read(function.body, names)
        returned = self.returns(function, names)
        if not returned:
            return number_value(None, function)
        value = returned[0]
        for each in returned[1:]:
            value = self.join(value, each)
        return value

    def returns(self, function: ast.FunctionDef, names: Names) -> list[Value]:
        """What a function returns, at each of its returns that may be reached."""
        self._returned.append([])
        self.block(function.body, names)
        return self._returned.pop()

    def block(self, statements: list[ast.stmt], names: Names) -> End:
        """Read statements in order, up to the one that surely ends them."""
        for statement in statements:
            end = self._statement(statement, names)
            if end:
                return end
        return ""

    def _statement(self, node: ast.stmt, names: Names) -> End:
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
            return self._repeat(node, names)
        elif isinstance(node, ast.With):
            return self.block(node.body, names)
        elif isinstance(node, ast.Return):
            self._returned[-1].append(self.read(node.value, names) if node.value else number_value(None, node))
        return self._left_by(node, names)

    def _left_by(self, node: ast.stmt, names: Names) -> End:
        if isinstance(node, ast.Return | ast.Raise):
            return "function"
        if not isinstance(node, ast.Break | ast.Continue) or not self._loops:
            return ""
        loop, kept = self._loops[-1], dict(names)
        (loop.whole if isinstance(node, ast.Break) else loop.turns).append(kept)
        return "loop" if isinstance(node, ast.Break) else "turn"

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
        if id(node) not in self._changes:
            self._changes[id(node)] = ast.copy_location(ast.BinOp(_loaded(node.target), node.op, node.value), node)
        made = self.read(self._changes[id(node)], names)
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
        listed = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
        places = self.read_all([each for each in listed if not isinstance(each, ast.Slice)], names)
        key = places[0].constant if len(places) == len(listed) == 1 else UNKNOWN
        if isinstance(old.items, dict):
            known = isinstance(key, str | int | float)
            self.complete &= known
            names[name] = mapped({**old.items, key if known else ast.unparse(target.slice): made}, old.node)
            return
        values = (old, *places, made)
        bounds = Interval(min(old.bounds.low, made.bounds.low), max(old.bounds.high, made.bounds.high))
        names[name] = Value("assigned", values, target, bounds, None, merged_inputs(values), old.shape)

    def _branch(self, node: ast.If, names: Names) -> End:
        test = self.condition(node.test, names)
        if not isinstance(test.constant, Unknown):
            return self.block(node.body if test.constant else node.orelse, names)
        other = dict(names)
        end, end_other = self.block(node.body, names), self.block(node.orelse, other)
        if end and end_other:
            return next(each for each in _WEAKEST if each in (end, end_other))
        self._become(names, [each for each, ended in ((names, end), (other, end_other)) if not ended])
        return ""

    def _become(self, names: Names, states: list[Names]) -> None:
        """Let names hold what they hold in one of several states."""
        joined = dict(states[0])
        for state in states[1:]:
            for name, value in state.items():
                joined[name] = self.join(joined[name], value) if name in joined else value
        names.clear()
        names.update(joined)

    def _repeat(self, node: ast.For, names: Names) -> End:
        value = self.read(node.iter, names)
        items = self.unfold(value)
        loop = Loop([], [])
        end: End = ""
        for item in items if items is not None else ():
            if end or self.exhausted:
                break
            end = self._turn(node, item, names, loop)
        if items is None or (self.exhausted and not end):
            self._any_turn(node, value, names, loop)
        if not end:
            end = self.block(node.orelse, names)
        states = loop.whole if end else [names, *loop.whole]
        if not states:
            return end
        self._become(names, states)
        return ""

    def _turn(self, node: ast.For, item: Value, names: Names, loop: Loop) -> End:
        self.bind(node.target, item, names)
        self._loops.append(Loop([], loop.whole))
        end = self.block(node.body, names)
        kept = self._loops.pop().turns
        states = kept if end else [names, *kept]
        if not states:
            return end
        self._become(names, states)
        return ""

    def _any_turn(self, node: ast.For, value: Value, names: Names, loop: Loop) -> None:
        """Read a loop once that is gone through any number of times."""
        self.complete = False
        before = dict(names)
        for name in _changed_in(node) & names.keys():
            names[name] = _widened(names[name])
        self._turn(node, opaque("item", (value,), node.iter), names, loop)
        after = dict(names)
        for name, old in before.items():
            if after[name] is not old:
                names[name] = _widened(self.join(old, after[name]))


def _widened(value: Value) -> Value:
    """A value that may have changed any number of times."""
    return opaque("repeated", (value,), value.node) if value.items is None else value


def _changed_in(loop: ast.For) -> set[str]:
    """The names that a loop may give other values."""
    return {node.id for node in ast.walk(loop) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _loaded(target: ast.expr) -> ast.expr:
    """A target read instead of written."""
    if isinstance(target, ast.Name):
        return ast.copy_location(ast.Name(target.id, ast.Load()), target)
    if isinstance(target, ast.Subscript):
        return ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
    return target
