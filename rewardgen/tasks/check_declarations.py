"""Checking what a task declares for the critic: pairs of situations, and changes that mean nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rewardgen.core.errors import did_you_mean
from rewardgen.sim.contract import Problem
from rewardgen.sim.variables import Flip, Outside, Pair, Shift, Wrap, variables_of
from rewardgen.tasks.protocol import Task

_QUATERNION = 4


def declaration_problems(task: Task, action_size: int) -> list[Problem]:
    """What is wrong with `pairs`, `invariances` and `ends`.

    Args:
        task: The task.
        action_size: Actuators of its model.
    """
    sizes = {name: len(variable.parts) for name, variable in task.declared().items()} | {"action": action_size}
    problems: list[Problem] = []
    for name, kinds, hint in (
        ("pairs", Pair, 'write `pairs = (Pair("near beats far", better={...}, worse={...}),)`'),
        ("invariances", (Shift, Flip, Wrap), 'write `invariances = (Shift("x_position", 3.0),)`'),
    ):
        declared: Any = getattr(task, name)
        if not isinstance(declared, tuple) or not all(isinstance(each, kinds) for each in declared):
            problems.append(Problem(f"`{name}` is not a tuple of what it should hold", hint))
        else:
            check = _pair_problems if name == "pairs" else _invariance_problems
            problems += [problem for each in declared for problem in check(each, sizes)]
    for cause, end in (getattr(task, "ends", {}) if not end_problems(task) else {}).items():
        if end.variable not in sizes:
            problems.append(_unknown(f"end `{cause}`", end.variable, sizes))
        elif sizes[end.variable]:
            problems.append(Problem(f"end `{cause}` is about `{end.variable}`, which is a vector", "name a scalar"))
    return problems


def end_problems(task: Task) -> list[Problem]:
    """What is wrong with `ends`, whatever its variables are: nobody reads it, or it ends nothing."""
    ends: Any = getattr(task, "ends", {})
    example = '`ends = {"fell": Outside("height", low=0.5)}`'
    if not isinstance(ends, Mapping) or not all(isinstance(each, Outside) for each in ends.values()):
        return [Problem(f"`ends` is {ends!r}, expected conditions by their names", f"write {example}")]
    problems = [
        Problem(f"end `{cause}` has no bound, so it ends nothing", f"give it `low`, `high` or both: {example}")
        for cause, end in ends.items()
        if not (math.isfinite(end.low) or math.isfinite(end.high))
    ]
    own = vars(type(task)).get("terminated")
    code = getattr(own, "__code__", None)
    if ends and code and not {"super", "ends"}.intersection(code.co_names):
        what = "nothing reads `ends`, for the task has its own `terminated`"
        problems.append(
            Problem(what, "return `{**super().terminated(sim, variables), ...}`, or leave out one of the two")
        )
    return problems


def _pair_problems(pair: Pair, sizes: Mapping[str, int]) -> Iterator[Problem]:
    where = f"pair `{pair.name}`"
    if set(pair.better) != set(pair.worse):
        names = sorted(set(pair.better) ^ set(pair.worse))
        yield Problem(f"{where} sets {', '.join(f'`{each}`' for each in names)} on one side only", "set it on both")
    elif pair.better == pair.worse:
        yield Problem(f"{where} has the same values on both sides", "set what makes the one better than the other")
    for side in (pair.better, pair.worse):
        for name, value in side.items():
            yield from _value_problems(where, name, value, sizes)


def _invariance_problems(invariance: Shift | Flip | Wrap, sizes: Mapping[str, int]) -> Iterator[Problem]:
    where = f"{type(invariance).__name__} of {', '.join(f'`{each}`' for each in variables_of(invariance))}"
    for name in variables_of(invariance):
        if isinstance(invariance, Shift):
            yield from _value_problems(where, name, invariance.amount, sizes)
        elif name not in sizes:
            yield _unknown(where, name, sizes)
        elif isinstance(invariance, Flip) and sizes[name] != _QUATERNION:
            yield Problem(
                f"{where}: `{name}` is not a quaternion of four parts", "declare its parts, such as w, x, y, z"
            )
        elif isinstance(invariance, Wrap) and sizes[name]:
            yield Problem(f"{where}: `{name}` is not a single angle", "declare its parts as variables of their own")


def _value_problems(where: str, name: str, value: Any, sizes: Mapping[str, int]) -> Iterator[Problem]:
    if name not in sizes:
        yield _unknown(where, name, sizes)
        return
    values = value if isinstance(value, Sequence) else (value,)
    if not all(isinstance(each, int | float) and math.isfinite(each) for each in values):
        yield Problem(f"{where}: `{name}` is set to {value!r}", "give a number, or a tuple of one per part")
    elif isinstance(value, Sequence) and len(value) != sizes[name]:
        hint = "give a number for all parts, or a tuple of one per part"
        yield Problem(f"{where}: `{name}` is given {len(value)} values and has {sizes[name] or 1} parts", hint)


def _unknown(where: str, name: str, sizes: Mapping[str, int]) -> Problem:
    return Problem(f"{where} names `{name}`, which is no variable", did_you_mean(name, sizes))
