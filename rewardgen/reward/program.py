"""A reward as a callable: the checked syntax tree, compiled with the functions that it names and nothing else in reach.

Imported by workers only: it needs torch, and it runs generated code.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import Any

import torch
from torch import Tensor

from rewardgen.core.errors import RewardgenError
from rewardgen.reward.components import Components
from rewardgen.reward.contract import Contract, RewardError
from rewardgen.reward.guards import Guards
from rewardgen.reward.language import check_tree
from rewardgen.reward.ownership import returns_fresh
from rewardgen.reward.parsing import parse_source
from rewardgen.reward.quick_call import Call, Parts, quick_call
from rewardgen.reward.reach import reachable
from rewardgen.reward.scope import Scope
from rewardgen.reward.signature import ENTRY, read_signature
from rewardgen.reward.tolerance import BOTH_BOUNDS
from rewardgen.reward.transform import lower
from rewardgen.store.records import Finding

_FILENAME = "<reward>"


class Program:
    """A compiled reward.

    Args:
        source: Its source, for messages.
        inputs: Names of its inputs, in the order in which it takes them.
        tunables: Names and defaults of its constants.
        compiled: Compiles its function, with guards on all operations that broadcast or as its text needs it.
        guards: Bounds what it makes.
        fresh: Whether what it returns surely shares no memory with its inputs.
    """

    def __init__(
        self,
        source: str,
        inputs: tuple[str, ...],
        tunables: dict[str, float],
        compiled: Callable[[bool | None], Callable[..., Any]],
        guards: Guards,
        fresh: bool,
    ) -> None:
        self.source = source
        self.inputs = inputs
        self.tunables = tunables
        self._function = compiled(None)
        self._compiled = compiled
        self._guards = guards
        self._contract = Contract(inputs, fresh)
        self._device: torch.device | None = None
        self._call: Call = self._first_call

    def __call__(self, inputs: Mapping[str, Tensor], tunables: Mapping[str, float | Tensor] = {}) -> Components:
        """Compute the components for N worlds.

        Args:
            inputs: Every input of the reward, and any others, each (N,) or (N, k) float32.
            tunables: Values for its constants, each a float or (N,); the defaults serve the rest.

        Returns:
            Component name to (N,) float32, already weighted, with their sum, the reward. A reward that returns
            `(total, components)` has one more component, `residual`: the total minus the sum of the others. They share
            no memory with the inputs.

        Raises:
            RewardError: The reward raised, returned anything but that, or a component is not finite.
        """
        return self._call(inputs, tunables)

    def _first_call(self, inputs: Mapping[str, Tensor], tunables: Mapping[str, float | Tensor]) -> Components:
        """A call that makes the next ones quick."""
        arguments = [inputs[name] for name in self.inputs]
        if arguments[0].device != self._device:
            self._settle(arguments)
        self._guards.begin(len(arguments[0]))
        try:
            returned = self._function(*arguments, **tunables)
        except Exception as error:
            raise self._explain(error) from error
        found = self._contract.components(returned, arguments)
        if self._contract.form:
            contract = self._contract.components
            parts = Parts(self._function, self.inputs, self._guards, self._settle, self._explain, contract)
            self._call = quick_call(parts, self._contract.form)
        return found

    @property
    def function(self) -> Callable[..., Any]:
        """The compiled function itself, without the contract on what it returns; a bound on loop turns goes on."""
        return self._function

    def _settle(self, arguments: Sequence[Tensor]) -> None:
        """Before the first call on a device: module constants go there, and columns among the inputs are noticed."""
        if self._device is None and any(1 in each.shape[1:] for each in arguments):
            self._function = self._compiled(True)
        self._device = self._guards.device = arguments[0].device
        scope = self._function.__globals__
        scope.update({name: _moved(value, self._device) for name, value in scope.items() if name != "__builtins__"})

    def _explain(self, error: Exception) -> RewardError:
        line = _line_of(error)
        text = " ".join(str(error).split())[:300]
        code = self.source.splitlines()[line - 1].strip()[:120] if line else ""
        place = f"`{code}`: " if code else ""
        hint = next((hint for phrase, hint in _HINTS.items() if phrase in text), _INPUTS_HINT)
        return RewardError(f"{place}{type(error).__name__}: {text}", line, "exception", hint)


def compile_reward(source: str) -> Program:
    """Check and compile a reward.

    Args:
        source: Its source.

    Raises:
        RewardError: It is not written in the reward language, or has no sound signature.
    """
    tree = parse_source(source)
    findings = (tree,) if isinstance(tree, Finding) else check_tree(tree)
    if findings:
        raise RewardError(findings[0].message, findings[0].line, "exception", findings[0].hint)
    assert isinstance(tree, ast.Module)
    try:
        signature = read_signature(source)
    except RewardgenError as error:
        raise RewardError(error.message, None, "exception", error.hint) from error
    guards = Guards()

    def compiled(columns: bool | None) -> Callable[..., Any]:
        lowered = lower(tree, columns)
        scope = reachable(lowered.references, guards)
        _define(compile(lowered.tree, _FILENAME, "exec", dont_inherit=True), scope)
        return scope[ENTRY]

    entry = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == ENTRY)
    fresh = returns_fresh(entry, Scope(tree))
    return Program(source, signature.inputs, signature.tunables, compiled, guards, fresh)


def _define(code: CodeType, scope: dict[str, Any]) -> None:
    try:
        exec(code, scope)
    except Exception as error:
        raise RewardError(f"{type(error).__name__}: {str(error)[:300]}", _line_of(error)) from error


def _moved(value: Any, device: torch.device) -> Any:
    """A constant with its tensors on a device."""
    if isinstance(value, Tensor):
        return value.to(device)
    if isinstance(value, list | tuple):
        return type(value)(_moved(each, device) for each in value)
    return {key: _moved(each, device) for key, each in value.items()} if isinstance(value, dict) else value


def _line_of(error: BaseException) -> int | None:
    """The innermost line of the reward in the traceback."""
    line = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == _FILENAME:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


_INPUTS_HINT = "mend that line; inputs are torch tensors, (N,) or (N, k) as the table of variables says"

_HINTS = {
    BOTH_BOUNDS: "write them apart, as in `tolerance(x, lower=bounds[0], upper=bounds[1], margin=0.5)`",
    "would mix the worlds": "pass `axis=-1`, which reduces the parts of each world; `axis=0` for a list of terms",
    "with a bool tensor": "make it a number first, as with `(height > 1.0).float()`",
    "is too large, the limit": "drop axes of size one, as with `.squeeze(-1)`: (N, 1) with (N,) makes (N, N)",
    "Boolean value of Tensor": "use `torch.where(condition, a, b)`, torch.maximum or torch.minimum, not `if` or `max`",
    "must match the size of tensor": "reduce (N, k) over its last axis with `.sum(-1)`, or index a part as `x[:, 0]`",
    "only one element tensors": "keep tensors: a component is one value per world",
    "can be converted to Scalar": "keep tensors: a component is one value per world",
    "must be Tensor, not float": "make it a tensor, as with `torch.full_like(height, 1.0)`, or use `math.`",
}
