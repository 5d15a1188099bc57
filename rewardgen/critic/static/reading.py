"""A reward as the detectors see it: its values, components and names, read once."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property

from rewardgen.critic.static import operators
from rewardgen.critic.static.statements import Assignment, StatementReader
from rewardgen.critic.static.trends import Trends, trends
from rewardgen.critic.static.value import Event, Interval, Span, Value, ancestors, opaque
from rewardgen.critic.static.wording import input_values
from rewardgen.reward.scope import Scope
from rewardgen.reward.signature import ENTRY
from rewardgen.store.records import TaskCard


@dataclass(frozen=True)
class ParsedReward:
    """What one look at a reward gave.

    Attributes:
        tree: The syntax.
        source: The text.
        entry: Its `compute_reward`.
        card: The task.
        scope: Its names.
        components: Components by name.
        totals: Totals that it returns beside its components.
        assignments: Assignments to names in the entry function.
        titles: What a value was first called, by its key.
        events: What surely goes wrong.
        called: Names of the functions it calls.
        complete: Whether all of it was followed: only then is what was not met surely absent.
    """

    tree: ast.Module
    source: str
    entry: ast.FunctionDef
    card: TaskCard
    scope: Scope
    components: dict[str, Value]
    totals: tuple[Value, ...]
    assignments: tuple[Assignment, ...]
    titles: dict[object, str]
    events: tuple[Event, ...]
    called: frozenset[str]
    complete: bool

    @cached_property
    def values(self) -> list[Value]:
        """Everything that the components and totals were made from, each value once."""
        return list(ancestors((*self.components.values(), *self.totals)))

    @cached_property
    def owners(self) -> dict[int, str]:
        """The first component that each value has a part in, by the id of the value."""
        seen: set[int] = set()
        return {
            id(value): name for name, component in self.components.items() for value in ancestors(component, seen=seen)
        }

    @cached_property
    def trends(self) -> dict[str, Trends]:
        """Which way each component moves with what it is made of."""
        known: dict[int, Trends] = {}
        return {name: trends(component, known) for name, component in self.components.items()}


def read_reward(tree: ast.Module, source: str, card: TaskCard) -> ParsedReward | None:
    """Read a reward without running it.

    Args:
        tree: The parsed reward.
        source: Its text.
        card: Its task.

    Returns:
        The reading; None if it has not exactly one entry function.
    """
    entries = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == ENTRY]
    if len(entries) != 1:
        return None
    scope = Scope(tree)
    reader = StatementReader(scope, card)
    names: dict[str, Value] = {}
    reader.block([each for each in tree.body if isinstance(each, ast.Assign | ast.AnnAssign)], names)
    reader.assignments.clear()
    reader.titles.clear()
    names |= _parameters(entries[0], card)
    returned = reader.returns(entries[0], names)
    components, totals = _split(returned)
    return ParsedReward(
        tree,
        source,
        entries[0],
        card,
        scope,
        components,
        tuple(totals),
        tuple(reader.assignments),
        reader.titles,
        tuple(reader.events),
        frozenset(reader.called),
        reader.complete and len(returned) == 1,
    )


def _parameters(entry: ast.FunctionDef, card: TaskCard) -> dict[str, Value]:
    known = input_values(card)
    names = {each.arg: known.get(each.arg) or _unknown_input(each) for each in entry.args.args}
    for argument, default in zip(entry.args.kwonlyargs, entry.args.kw_defaults, strict=True):
        names[argument.arg] = _tunable(argument, default)
    return names


def _unknown_input(argument: ast.arg) -> Value:
    value = opaque("input", (), argument)
    value.inputs = frozenset([argument.arg])
    value.variable = argument.arg
    return value


def _tunable(argument: ast.arg, default: ast.expr | None) -> Value:
    """A tunable constant: not known to stay at its default, but taken to be about that large."""
    try:
        number = float(ast.literal_eval(default)) if default is not None else 1.0
    except (ValueError, TypeError, SyntaxError):
        return opaque("tunable", (), argument)
    bounds, span = Interval(number, number), Span(number, number, number)
    return Value("tunable", (), argument, bounds, span, shape=(), key=("tunable", argument.arg))


def _split(returned: list[Value]) -> tuple[dict[str, Value], list[Value]]:
    components: dict[str, Value] = {}
    totals: list[Value] = []
    for value in returned:
        items = value.items
        if isinstance(items, list) and len(items) == 2:
            totals.append(items[0])
            items = items[1].items
        for name, component in items.items() if isinstance(items, dict) else ():
            known = components.get(str(name))
            components[str(name)] = operators.joined(known, component) if known else component
    return components, totals
