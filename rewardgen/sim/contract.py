"""Checks of the results of a task's methods: shapes, types and names, with a hint for each problem."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor

from rewardgen.core.errors import RewardgenError, TaskError, UnknownName, did_you_mean, nearest
from rewardgen.sim.variables import Var

_MOST_PARTS = 12
"""Longest vector whose declaration a hint writes out."""


class Problem(NamedTuple):
    """One breach of the task contract."""

    what: str
    hint: str


class Named(dict[str, Any]):
    """Values by name for task code, called `what` in errors; the error of an unknown name suggests a known one."""

    def __init__(self, what: str, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self._what = what

    def __missing__(self, name: str) -> Any:
        raise UnknownName(f"`{self._what}` has no `{name}`", did_you_mean(name, self) if self else "it is empty")


def require(problems: list[Problem]) -> None:
    """Raise the first problem, if any, as a `TaskError`."""
    if problems:
        raise TaskError(problems[0].what, problems[0].hint)


def mapping_problems(method: str, result: Any) -> list[Problem]:
    """Find problems of a method's result that should be a dict."""
    if isinstance(result, Mapping):
        return []
    example = {"variables": '`return {"height": height}`', "terminated": '`return {"fell": height < 0.5}`, or `{}`'}
    what = f"`{method}` returns {type(result).__name__}, expected a dict of tensors by their names"
    return [Problem(what, f"write {example[method]}")]


def variable_problems(declared: Mapping[str, Var], values: Any, num_envs: int) -> list[Problem]:
    """Find problems of the values that `variables` returned."""
    if problems := mapping_problems("variables", values):
        return problems
    problems = [_undeclared(name, declared) for name in values if name not in declared]
    for name, variable in declared.items():
        if name in values:
            problems += _value_problems(name, variable, values[name], num_envs)
        else:
            hint = f'return it from `variables`, as `{{"{name}": values}}`'
            problems.append(Problem(f"variable `{name}` is declared but not returned", hint))
    return problems


def _value_problems(name: str, variable: Var, value: Any, num_envs: int) -> list[Problem]:
    problems = tensor_problems(f"variable `{name}`", value, (num_envs, *variable.shape))
    size = value.shape[1] if isinstance(value, Tensor) and value.ndim == 2 else 0
    if not problems or not 1 < size <= _MOST_PARTS:
        return problems
    parts = ", ".join(f'"part {number}"' for number in range(1, size + 1))
    hint = f'name each: `{name} = Var("{variable.unit}", "...", parts=({parts}))`, or return one number per env'
    declared = len(variable.parts) or "no"
    return [Problem(f"variable `{name}` has {size} values per env, and {declared} `parts` are declared", hint)]


def _undeclared(name: str, declared: Mapping[str, Var]) -> Problem:
    close = nearest(name, declared)
    hint = f'declare it: `{name} = Var("unit", "meaning")`'
    return Problem(f"variable `{name}` is not declared", f"did you mean `{close}`? or {hint}" if close else hint)


def tensor_problems(what: str, value: Any, shape: tuple[int, ...], *, boolean: bool = False) -> list[Problem]:
    """Find problems of a tensor, called `what` in messages; -1 in its shape stands for any size."""
    if not isinstance(value, Tensor):
        hint = "compute it from tensors, one value for each env, without numpy, `float()`, `bool()` and `.item()`"
        hint = "end the method with `return`" if value is None else hint
        return [Problem(f"{what} is {type(value).__name__}, expected a torch tensor", hint)]
    actual = tuple(value.shape)
    if len(actual) != len(shape) or any(want not in (-1, size) for size, want in zip(actual, shape, strict=True)):
        expected = str(shape).replace("-1", "k")
        return [Problem(f"{what} has shape {actual}, expected {expected}", _shape_hint(what, actual, shape))]
    if boolean and value.dtype != torch.bool:
        return [Problem(f"{what} has type {value.dtype}, expected torch.bool", "return a comparison, such as `x > 0`")]
    if value.is_complex():
        return [Problem(f"{what} is complex", "return real numbers")]
    return []


def _shape_hint(what: str, actual: tuple[int, ...], shape: tuple[int, ...]) -> str:
    num_envs = shape[0]
    if actual == (num_envs,):
        return "give it a last axis: `values[:, None]`, or several side by side: `torch.stack((one, other), -1)`"
    if actual == (num_envs, 1) and shape == (num_envs,):
        return "take the only entry of each env: `values[:, 0]`"
    if what in ("`fitness`", "`success`"):
        return "reduce over the first axis, the steps: `episode.mean(x)`, `episode.total(x)` or `episode.last(x)`"
    return f"the first axis is the envs, here {num_envs}: `x[:, 0]` is an entry of each env, `x[0]` the first env's own"


def termination_problems(causes: Any, num_envs: int) -> list[Problem]:
    """Find problems of the causes that `terminated` returned."""
    problems = mapping_problems("terminated", causes)
    for name, value in () if problems else causes.items():
        problems += tensor_problems(f"termination cause `{name}`", value, (num_envs,), boolean=True)
    return problems


def _goal_problems(goals: Any, num_envs: int) -> list[Problem]:
    if not isinstance(goals, Mapping):
        what = f"the third result of `reset`, goals, is {type(goals).__name__}, expected a dict"
        return [Problem(what, 'return {"mark": tensor}, one row for each env that begins')]
    problems = []
    for name, value in goals.items():
        shape = (num_envs,) if isinstance(value, Tensor) and value.ndim == 1 else (num_envs, -1)
        problems += tensor_problems(f"goal `{name}` of `reset`", value, shape)
    return problems


def state_problems(state: Any, num_envs: int, nq: int, nv: int) -> list[Problem]:
    """Find problems of the positions, velocities and goals that `reset` returned."""
    if not isinstance(state, tuple) or len(state) not in (2, 3):
        hint = "return positions (n, nq), velocities (n, nv), and if it draws any, goals as {name: tensor}"
        return [Problem("`reset` does not return two tensors", hint)]
    problems = _goal_problems(state[2], num_envs) if len(state) == 3 else []
    problems += tensor_problems("the first result of `reset`, positions,", state[0], (num_envs, nq))
    return problems + tensor_problems("the second result of `reset`, velocities,", state[1], (num_envs, nv))


@contextmanager
def noted(problems: list[Problem]) -> Iterator[None]:
    """Add an error to a list of problems instead of raising it."""
    try:
        yield
    except RewardgenError as error:
        problems.append(Problem(error.message, error.hint))
