"""Detectors of what the shape of the program tells: unused names, forgotten and constant terms, totals."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from rewardgen.critic.static.finding import finding, number
from rewardgen.critic.static.reading import ParsedReward
from rewardgen.critic.static.statements import Assignment
from rewardgen.critic.static.value import ONE, Value, told_from_operands
from rewardgen.store.records import Finding

_ROUNDING = 1e-6


def unused_names(reading: ParsedReward) -> Iterator[Finding]:
    """Inputs, tunable constants and helpers that nothing reads."""
    read = _names_read(reading.tree)
    for argument in reading.entry.args.args:
        if argument.arg not in read:
            hint = "use it, or remove the parameter; a forgotten term is the usual cause"
            yield finding("unused-input", argument, f"takes `{argument.arg}` and never reads it", hint)
    for argument in reading.entry.args.kwonlyargs:
        if argument.arg not in read:
            what = f"has the constant `{argument.arg}` and never reads it"
            yield finding("unused-tunable", argument, what, "use it, or remove the parameter")
    called = {node.func.id for node in ast.walk(reading.tree) if _calls_by_name(node)}  # type: ignore[attr-defined]
    for name, function in reading.scope.functions.items():
        if name not in called and function is not reading.entry:
            hint = "call it, or remove it; a forgotten term is the usual cause"
            yield finding("unused-helper", function, f"has the function `{name}` and never calls it", hint)


def forgotten_terms(reading: ParsedReward) -> Iterator[Finding]:
    """Locals that are computed from the state and reach no component."""
    used = {id(value) for value in reading.values} if reading.complete else None
    if used is not None:
        used |= {id(operand) for each in reading.assignments for operand in each.value.operands}
    read = _names_read(reading.tree)
    told: set[str] = set()
    for each in reading.assignments:
        forgotten = each.name not in read or (used is not None and _is_end(each, used))
        if forgotten and each.value.inputs and not each.name.startswith("_") and each.name not in told:
            told.add(each.name)
            what = f"computes `{each.name}` and no component uses it"
            hint = f'return it, as in `{{..., "{each.name}": {each.name}}}`, or remove the line'
            yield finding("forgotten-term", each.node, what, hint)


def augmented_inputs(reading: ParsedReward) -> Iterator[Finding]:
    """Inputs with `*=` and the like, which means another value here, but elsewhere changes the caller's tensor."""
    inputs = {argument.arg for argument in reading.entry.args.args}
    nodes = list(ast.walk(reading.entry))
    rebound = {
        each.id for node in nodes if isinstance(node, ast.Assign) for each in node.targets if isinstance(each, ast.Name)
    }
    for node in nodes:
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id in inputs - rebound:
            name = node.target.id
            what = f"changes its input `{name}` in place where it is run as plain torch; here it only gets a new value"
            hint = f"give the result a name of its own instead of `{name}`"
            yield finding("augmented-input", node, what, hint)


def constant_components(reading: ParsedReward) -> Iterator[Finding]:
    """Components that are the same in every state."""
    guessed: dict[int, bool] = {}
    for name, value in reading.components.items():
        if value.inputs or told_from_operands(value, _is_guess, guessed):
            continue
        if (value.number or 0.0) > 0.0 and reading.card.termination_causes:
            what = f"returns the component `{name}`, {number(value.number or 0.0)} per step in every state"
            hint = "tie it to a state that is wanted: as it is, surviving still is paid like doing the task"
            evidence = {"value": value.number or 0.0}
            yield finding("constant-alive-bonus", value, what, hint, name, evidence=evidence)
        else:
            what = f"returns the component `{name}`, which is the same in every state"
            hint = "make it depend on the state or remove it: a constant teaches nothing"
            yield finding("data-independent-component", value, what, hint, name)


def unlisted_terms(reading: ParsedReward) -> Iterator[Finding]:
    """Totals that are not the sum of the components returned beside them."""
    if len(reading.totals) != 1 or not reading.complete:
        return
    total = reading.totals[0]
    left = dict(total.terms)
    for component in reading.components.values():
        for key, weight in component.terms.items():
            left[key] = left.get(key, 0.0) - weight
    scale = max([1.0, *(abs(weight) for weight in total.terms.values())])
    wrong = {key: weight for key, weight in left.items() if abs(weight) > _ROUNDING * scale}
    too_long = {value.key for value in reading.values if value.op in ("add", "subtract") and value.key in value.terms}
    if not wrong or too_long & wrong.keys():
        return
    told = [_difference(reading, key, total) for key in wrong]
    what = f"returns a total that is not the sum of its components: {'; '.join(told[:4])}"
    hint = "return only the dict, with each component already weighted: it is summed for you"
    yield finding("unlisted-term", total, what, hint, evidence={"terms that differ": len(wrong)})


def repeated_components(reading: ParsedReward) -> Iterator[Finding]:
    """Components that count the same quantity twice, or against each other."""
    seen: dict[object, tuple[str, float]] = {}
    for name, component in reading.components.items():
        if len(component.terms) != 1 or not component.inputs:
            continue
        ((key, weight),) = component.terms.items()
        if key not in seen:
            seen[key] = (name, weight)
            continue
        other, first = seen[key]
        against = first * weight < 0.0
        what = f"has `{name}` and `{other}` as multiples of the same quantity"
        what += ", with opposite signs" if against else ""
        evidence = {name: weight, other: first}
        detector = "contradictory-terms" if against else "double-counted"
        yield finding(detector, component, what, "keep one of them with the weight you want", name, evidence=evidence)


def listed_totals(reading: ParsedReward) -> Iterator[Finding]:
    """Components that are the sum of the others, so that everything counts twice."""
    whole: dict[object, float] = {}
    moving = 0
    for component in reading.components.values():
        moving += bool(component.inputs)
        for key, weight in component.terms.items() if component.inputs else ():
            whole[key] = whole.get(key, 0.0) + weight
    for name, component in reading.components.items():
        own = 1 if component.inputs else 0
        if moving - own < 2:
            continue
        # The others together are the whole without this one.
        keys = component.terms.keys() | whole.keys()
        if all(abs((1 + own) * component.terms.get(key, 0.0) - whole.get(key, 0.0)) <= _ROUNDING for key in keys):
            what = f"returns `{name}`, the sum of its other components, as a component: everything counts twice"
            yield finding("total-among-components", component, what, "return the parts only: they are summed", name)


def _names_read(tree: ast.Module) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def _calls_by_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


def _is_end(assignment: Assignment, used: set[int]) -> bool:
    """Whether a value reaches no component, nor another local that is to be told instead."""
    is_term = isinstance(assignment.node, ast.Assign) and not isinstance(assignment.value.items, dict | list)
    return is_term and id(assignment.value) not in used


def _is_guess(value: Value, known: Mapping[int, bool]) -> bool:
    return value.op in ("unread", "item", "repeated") or any(known[id(each)] for each in value.operands)


def _difference(reading: ParsedReward, key: object, total: Value) -> str:
    name = "a constant" if key == ONE else f"`{reading.titles[key]}`" if key in reading.titles else "an expression"
    listed = sum(component.terms.get(key, 0.0) for component in reading.components.values())
    return (
        f"{name} counts {number(total.terms.get(key, 0.0))} times in the total and {number(listed)} times in the dict"
    )
