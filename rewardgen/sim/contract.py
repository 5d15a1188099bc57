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
    """Values by name for task code; the error of an unknown name suggests a known one.

    Args:
        what: Name of the mapping in task code.
        values: Values by name.
    """

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
    problems += [
        Problem(
            f"variable `{name}` is declared but not returned",
            f'return it from `variables`, as `{{"{name}": values}}`{_like(name, values)}',
        )
        for name in declared
        if name not in values
    ]
    for name, variable in declared.items():
        if name in values:
            problems += _value_problems(name, variable, values[name], num_envs)
    return problems


def _value_problems(name: str, variable: Var, value: Any, num_envs: int) -> list[Problem]:
    shape: list[int] = [*value.shape] if isinstance(value, Tensor) else []
    wide = len(shape) == 2 and shape[0] == num_envs and (shape[1],) != variable.shape
    if not wide or not 1 < shape[1] <= _MOST_PARTS:
        return tensor_problems(f"variable `{name}`", value, (num_envs, *variable.shape))
    parts = ", ".join(f'"part {number}"' for number in range(1, shape[1] + 1))
    hint = f'name each: `{name} = Var("{variable.unit}", "...", parts=({parts}))`'
    hint += ", or return one number per env, as `values[:, 0]` (N,)" if not variable.parts else ""
    declared = f"{len(variable.parts)} parts are" if variable.parts else "no `parts` are"
    return [Problem(f"variable `{name}` has {shape[1]} values per env, and {declared} declared", hint)]


def _undeclared(name: str, declared: Mapping[str, Var]) -> Problem:
    close = nearest(name, declared)
    hint = f'declare it: `{name} = Var("unit", "meaning")`'
    return Problem(f"variable `{name}` is not declared", f"did you mean `{close}`? or {hint}" if close else hint)


def _like(name: str, values: Mapping[str, Any]) -> str:
    close = nearest(name, values)
    return f"; `{close}` is there" if close else ""


def tensor_problems(what: str, value: Any, shape: tuple[int, ...], *, boolean: bool = False) -> list[Problem]:
    """Find problems of a tensor.

    Args:
        what: Name of the tensor in messages.
        value: Value to check.
        shape: Required shape; -1 stands for any size.
        boolean: Require bool; otherwise any real type.
    """
    if not isinstance(value, Tensor):
        return [Problem(f"{what} is {type(value).__name__}, expected a torch tensor", _tensor_hint(value))]
    actual = tuple(value.shape)
    if len(actual) != len(shape) or any(want not in (-1, size) for size, want in zip(actual, shape, strict=True)):
        expected = str(shape).replace("-1", "k")
        return [Problem(f"{what} has shape {actual}, expected {expected}", _shape_hint(actual, shape))]
    if boolean and value.dtype != torch.bool:
        return [Problem(f"{what} has type {value.dtype}, expected torch.bool", "return a comparison, such as `x > 0`")]
    if value.is_complex():
        return [Problem(f"{what} is complex", "return real numbers")]
    return []


def _tensor_hint(value: Any) -> str:
    if value is None:
        return "end the method with `return`"
    if isinstance(value, Mapping | tuple | list):
        return "put them side by side in one tensor, as with `torch.stack((one, other), -1)`"
    if hasattr(value, "__array__"):
        return "compute it with torch instead of numpy, from tensors"
    return "compute it from tensors, one value for each env, without `float()`, `bool()` and `.item()`"


def _shape_hint(actual: tuple[int, ...], shape: tuple[int, ...]) -> str:
    num_envs = shape[0]
    if actual == (num_envs,):
        return "give it a last axis: `values[:, None]`, or several side by side: `torch.stack((one, other), -1)`"
    if actual == (num_envs, 1) and shape == (num_envs,):
        return "take the only entry of each env: `values[:, 0]`"
    if len(actual) == 2 and actual[1] == num_envs and shape == (num_envs,):
        return "reduce over the first axis, the steps: `episode.mean(x)`, `episode.total(x)` or `episode.last(x)`"
    if not actual:
        return "one value for each env, not one for all: reduce over the last axis at most, as with `x.sum(-1)`"
    axis = f"the first axis is the envs, here {num_envs}"
    return axis if actual[0] == num_envs else f"{axis}: `x[:, 0]` is an entry of each env, `x[0]` the first env's own"


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
    for what, value, size, start in (
        ("the first result of `reset`, positions,", state[0], nq, "sim.qpos0.repeat(draw.num_envs, 1)"),
        ("the second result of `reset`, velocities,", state[1], nv, "torch.zeros_like(sim.qvel)"),
    ):
        for problem in tensor_problems(what, value, (num_envs, size)):
            misshapen = isinstance(value, Tensor) and tuple(value.shape) != (num_envs, size)
            hint = f"one row for each env that begins, as in `{start}`: there are `draw.num_envs` of them"
            problems.append(problem._replace(hint=hint) if misshapen else problem)
    return problems


@contextmanager
def noted(problems: list[Problem]) -> Iterator[None]:
    """Add an error to a list of problems instead of raising it."""
    try:
        yield
    except RewardgenError as error:
        problems.append(Problem(error.message, error.hint))
