"""Reading expressions: from syntax to values."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence

from rewardgen.critic.static import operators, subscripts
from rewardgen.critic.static.calls import builtin_call, method_call, module_call
from rewardgen.critic.static.containers import listed, mapped, shape_value, unlisted
from rewardgen.critic.static.value import (
    MAX_LISTED,
    UNIT,
    UNKNOWN,
    WORLDS,
    Event,
    Interval,
    Unknown,
    Value,
    merged_inputs,
    number_value,
    opaque,
)
from rewardgen.reward.scope import Function, Scope
from rewardgen.store.records import TaskCard

Names = dict[str, Value]

_CONSTANTS = {"pi": 3.141592653589793, "e": 2.718281828459045, "tau": 6.283185307179586, "inf": float("inf")}
_MAX_EVALUATIONS = 8_000
"""A helper that is called, or a turn of a loop, is read anew while these last."""
_MAX_CALLS = 12
_MAX_NESTING = 60
"""Of expressions, at which a function is still entered; each is a few frames of Python, which has 1000."""
_ITEMS_AT_ONCE = 10
"""Items of a container that take about as long as an expression."""
MAX_ITEMS = 40
_MAX_TEXT = 200


class ExpressionReader:
    """Reads expressions of one reward.

    Args:
        scope: Its names.
        card: The task.

    Attributes:
        card: The task.
        complete: Whether everything so far was followed; False where the rest is a guess.
        events: What was met.
        called: Names of the functions that were entered.
    """

    def __init__(self, scope: Scope, card: TaskCard) -> None:
        self.card = card
        self.complete = True
        self.events: list[Event] = []
        self.called: set[str] = set()
        self._scope = scope
        self._left = _MAX_EVALUATIONS
        self._depth = 0
        self._nesting = 0

    @property
    def exhausted(self) -> bool:
        """Whether so much was read that loops and functions are no longer followed: what is left is each read once."""
        return self._left < 0

    def read(self, node: ast.expr, names: Names) -> Value:
        """The value of an expression.

        Args:
            node: The expression.
            names: What its names hold.
        """
        self._nesting += 1
        value = _READERS.get(type(node), ExpressionReader._other)(self, node, names)
        self._nesting -= 1
        self._left -= 1 + len(value.items or ()) // _ITEMS_AT_ONCE
        return value

    def read_all(self, nodes: Iterable[ast.AST], names: Names) -> list[Value]:
        """The values of those of some nodes that are expressions; of `*items` all items."""
        values: list[Value] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                items = self.unfold(self.read(node.value, names))
                self.complete &= items is not None
                values += items or ()
            elif isinstance(node, ast.expr):
                values.append(self.read(node, names))
        return values

    def join(self, a: Value, b: Value) -> Value:
        """The value of a name that is one or the other."""
        self._left -= 1 + min(operators.held(a) + operators.held(b), MAX_LISTED) // _ITEMS_AT_ONCE
        return operators.joined(a, b)

    def _other(self, node: ast.expr, names: Names) -> Value:
        self.complete = False
        return opaque("unread", self.read_all(ast.iter_child_nodes(node), names), node)

    def condition(self, node: ast.expr, names: Names) -> Value:
        """The value of a condition, which must be one yes or no."""
        value = self.read(node, names)
        if value.batched:
            self.events.append(Event("branch", node, (value,)))
        return value

    def unfold(self, value: Value) -> list[Value] | None:
        """The items that a loop over a value meets; None if they are not known."""
        items: list[Value] | None = [*map(number_value, value.items)] if isinstance(value.items, dict) else value.items
        if items is None and value.shape and value.shape[0] not in (WORLDS,) and value.shape[0] <= MAX_ITEMS:
            items = [subscripts.entry(self, value, [place], value.node) for place in range(value.shape[0])]
        return items if items is not None and len(items) <= MAX_ITEMS else None

    def _name(self, node: ast.Name, names: Names) -> Value:
        if node.id in names:
            return names[node.id]
        known = self._module_value(node)
        self.complete &= known is not None
        return known or opaque("unread", (), node)

    def _attribute(self, node: ast.Attribute, names: Names) -> Value:
        found = self._module_value(node)
        if found is not None:
            return found
        value = self.read(node.value, names)
        if node.attr in ("values", "indices") and isinstance(value.items, list) and value.items:
            return value.items[0 if node.attr == "values" else -1]
        if node.attr == "shape":
            return shape_value(value, node)
        if node.attr in ("dtype", "device", "ndim", "eps", "tiny"):
            small = Interval(1e-7, 1e-7) if node.attr in ("eps", "tiny") else Interval(0.0, float("inf"))
            return Value(node.attr, (), node, small, shape=())
        return opaque(node.attr, (value,), node)

    def _module_value(self, node: ast.expr) -> Value | None:
        dotted = self._scope.resolve(node)
        if dotted is None:
            return None
        number = _CONSTANTS.get(dotted.rsplit(".", 1)[-1])
        return number_value(number, node) if number is not None else Value(dotted, (), node, shape=())

    def _binary(self, node: ast.BinOp, names: Names) -> Value:
        left, right = self.read(node.left, names), self.read(node.right, names)
        if isinstance(left.items, list) and isinstance(right.items, list) and isinstance(node.op, ast.Add):
            return listed([*left.items, *right.items], node)
        return operators.binary(operators.operator_name(node.op), left, right, node)

    def _unary(self, node: ast.UnaryOp, names: Names) -> Value:
        if isinstance(node.op, ast.Not):
            value = self.condition(node.operand, names)
            known = not value.constant if not isinstance(value.constant, type(UNKNOWN)) else UNKNOWN
            return Value("not", (value,), node, UNIT, inputs=value.inputs, shape=value.shape, constant=known)
        value = self.read(node.operand, names)
        if isinstance(node.op, ast.USub):
            return operators.negative(value, node)
        if isinstance(node.op, ast.Invert):
            return Value("not", (value,), node, UNIT, inputs=value.inputs, shape=value.shape)
        return value

    def _compare(self, node: ast.Compare, names: Names) -> Value:
        values = self.read_all([node.left, *node.comparators], names)
        results = [
            operators.binary(operators.operator_name(op), left, right, node)
            for op, left, right in zip(node.ops, values, values[1:], strict=False)
        ]
        if len(results) == 1:
            return results[0]
        if results[0].batched:
            self.events.append(Event("branch", node, (results[0],), "chain"))
        return Value("and", tuple(results), node, UNIT, inputs=merged_inputs(results), shape=results[-1].shape)

    def _logical(self, node: ast.BoolOp, names: Names) -> Value:
        values = [self.condition(each, names) for each in node.values[:-1]] + [self.read(node.values[-1], names)]
        return Value("and", tuple(values), node, inputs=merged_inputs(values), shape=values[-1].shape)

    def _ternary(self, node: ast.IfExp, names: Names) -> Value:
        test = self.condition(node.test, names)
        if not isinstance(test.constant, type(UNKNOWN)):
            return self.read(node.body if test.constant else node.orelse, names)
        return self.join(self.read(node.body, names), self.read(node.orelse, names))

    def _list(self, node: ast.List | ast.Tuple | ast.Set, names: Names) -> Value:
        return listed(self.read_all(node.elts, names), node)

    def _dict(self, node: ast.Dict, names: Names) -> Value:
        items: dict[object, Value] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            held = self.read(value, names)
            if key is None:
                items |= held.items if isinstance(held.items, dict) else {}
                self.complete &= isinstance(held.items, dict)
            else:
                items[self._key(key, names)] = held
        return mapped(items, node)

    def _key(self, node: ast.expr, names: Names) -> object:
        constant = self.read(node, names).constant
        if isinstance(constant, str | int | float | bool):
            return constant
        self.complete = False
        return ast.unparse(node)

    def _text(self, node: ast.JoinedStr, names: Names) -> Value:
        parts = [each.value if isinstance(each, ast.FormattedValue) else each for each in node.values]
        constants = [each.constant for each in self.read_all(parts, names)]
        plain = all(
            each.conversion == -1 and each.format_spec is None
            for each in node.values
            if isinstance(each, ast.FormattedValue)
        )
        known = plain and all(isinstance(each, str | int | float) for each in constants)
        text = "".join(map(str, constants)) if known else ""
        return number_value(text, node) if known and len(text) <= _MAX_TEXT else opaque("text", (), node)

    def _subscript(self, node: ast.Subscript, names: Names) -> Value:
        return subscripts.subscript(self, self.read(node.value, names), node, names)

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.DictComp | ast.SetComp, names: Names) -> Value:
        turns, known = self._turns(node.generators, names)
        items: list[Value] = []
        pairs: dict[object, Value] = {}
        for bound in turns:
            if self.exhausted and (items or pairs):
                self.complete = known = False
                break
            inner = names | bound
            if isinstance(node, ast.DictComp):
                pairs[self._key(node.key, inner)] = self.read(node.value, inner)
            else:
                items.append(self.read(node.elt, inner))
        if isinstance(node, ast.DictComp):
            return mapped(pairs, node)
        return listed(items, node) if known else unlisted(items, node)

    def _turns(self, generators: Sequence[ast.comprehension], names: Names) -> tuple[list[Names], bool]:
        """What the targets of a comprehension hold at each turn, and whether those are all turns."""
        turns: list[Names] = [{}]
        known = True
        for generator in generators:
            made = self._inner_turns(turns, generator, names)
            if made is None:
                self.complete = known = False
                bound: Names = dict(turns[0]) if turns else {}
                self.bind(generator.target, self.item_of(generator.iter, names | bound), bound)
                made = [bound]
            turns = made
        return turns, known

    def _inner_turns(self, turns: list[Names], generator: ast.comprehension, names: Names) -> list[Names] | None:
        """The turns of one more generator within those before it; None if they are not known, or too many."""
        made: list[Names] = []
        for outer in turns:
            items = self.unfold(self.read(generator.iter, names | outer))
            if items is None or self.exhausted or len(made) > MAX_LISTED:
                return None
            for item in items:
                bound = dict(outer)
                self.bind(generator.target, item, bound)
                if self._may_pass(generator.ifs, names | bound):
                    made.append(bound)
        return made

    def _may_pass(self, tests: Sequence[ast.expr], names: Names) -> bool:
        self._left -= 1
        for test in tests:
            constant = self.read(test, names).constant
            if isinstance(constant, Unknown):
                self.complete = False
            elif not constant:
                return False
        return True

    def item_of(self, iterated: ast.expr, names: Names) -> Value:
        """Some item of what a loop goes through."""
        return opaque("item", (self.read(iterated, names),), iterated)

    def bind(self, target: ast.expr, value: Value, names: Names) -> None:
        """Give a value to a name, or its items to several."""
        if isinstance(target, ast.Name):
            names[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            for part, item in zip(target.elts, self._dealt(target.elts, value, target), strict=True):
                self.bind(part.value if isinstance(part, ast.Starred) else part, item, names)
        else:
            self.complete = False

    def _dealt(self, targets: Sequence[ast.expr], value: Value, node: ast.expr) -> list[Value]:
        """What each of several targets gets, of which one may take the rest."""
        items, count = self.unfold(value), len(targets)
        starred = next((place for place, each in enumerate(targets) if isinstance(each, ast.Starred)), None)
        if items is not None and starred is not None and len(items) >= count - 1:
            end = len(items) - (count - 1 - starred)
            items = [*items[:starred], listed(items[starred:end], node), *items[end:]]
        if items is None or len(items) != count:
            return [opaque("item", (value,), node) for _ in targets]
        return items

    def _call(self, node: ast.Call, names: Names) -> Value:
        keywords = {each.arg or "": self.read(each.value, names) for each in node.keywords}
        dotted = self._scope.resolve(node.func)
        if dotted is not None:
            return module_call(self, dotted, self.read_all(node.args, names), keywords, node)
        if isinstance(node.func, ast.Attribute):
            values = [self.read(node.func.value, names), *self.read_all(node.args, names)]
            return method_call(self, node.func.attr, values, keywords, node, names)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        arguments = self.read_all(node.args, names)
        function = self._scope.functions.get(name)
        if function is not None:
            return self._enter(name, function, arguments, keywords, names, node)
        return builtin_call(self, name, arguments, keywords, node)

    def _enter(
        self, name: str, function: Function, arguments: list[Value], keywords: Names, names: Names, node: ast.Call
    ) -> Value:
        self.called.add(name)
        if self._depth >= _MAX_CALLS or self._nesting > _MAX_NESTING or self.exhausted:
            self.complete = False
            return opaque(name, [*arguments, *keywords.values()], node)
        inner = dict(names) | self.defaults(function.args, names)
        inner |= {parameter.arg: value for parameter, value in zip(function.args.args, arguments, strict=False)}
        inner |= keywords
        self._depth += 1
        value = self.run(function, inner)
        self._depth -= 1
        return value

    def defaults(self, arguments: ast.arguments, names: Names) -> Names:
        """The values of parameters that are not given."""
        places = arguments.args[len(arguments.args) - len(arguments.defaults) :]
        given = [*zip(places, arguments.defaults, strict=True)]
        given += [
            (each, default)
            for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
            if default is not None
        ]
        return {parameter.arg: self.read(default, names) for parameter, default in given}

    def run(self, function: Function, names: Names) -> Value:
        """What a function returns; for a lambda its expression."""
        assert isinstance(function, ast.Lambda)
        return self.read(function.body, names)


_Read = Callable[[ExpressionReader, ast.expr, Names], Value]
_READERS: dict[type[ast.AST], _Read] = {
    ast.Constant: lambda reader, node, names: number_value(getattr(node, "value", None), node),
    ast.Name: ExpressionReader._name,
    ast.Attribute: ExpressionReader._attribute,
    ast.BinOp: ExpressionReader._binary,
    ast.UnaryOp: ExpressionReader._unary,
    ast.Compare: ExpressionReader._compare,
    ast.BoolOp: ExpressionReader._logical,
    ast.IfExp: ExpressionReader._ternary,
    ast.List: ExpressionReader._list,
    ast.Tuple: ExpressionReader._list,
    ast.Set: ExpressionReader._list,
    ast.Dict: ExpressionReader._dict,
    ast.JoinedStr: ExpressionReader._text,
    ast.Subscript: ExpressionReader._subscript,
    ast.ListComp: ExpressionReader._comprehension,
    ast.GeneratorExp: ExpressionReader._comprehension,
    ast.DictComp: ExpressionReader._comprehension,
    ast.SetComp: ExpressionReader._comprehension,
    ast.Call: ExpressionReader._call,
}  # type: ignore[assignment]
