"""A reward as a callable: the checked syntax tree, compiled with the functions that it names and nothing else in reach.

Imported by workers only: it needs torch, and it runs generated code.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from rewardgen.core.errors import RewardgenError
from rewardgen.reward.contract import Components, RewardError, checked_components
from rewardgen.reward.guards import Guards
from rewardgen.reward.language import check_tree
from rewardgen.reward.parsing import parse_source
from rewardgen.reward.signature import ENTRY, Signature, read_signature
from rewardgen.reward.tolerance import BOTH_BOUNDS
from rewardgen.reward.transform import lower
from rewardgen.reward.worlds import COUNT_KEPT, NO_NUMBER, ONE_BY_ONE
from rewardgen.store.records import Finding

FILENAME = "<reward>"


class Program:
    """A compiled reward.

    Args:
        source: Its source, for messages.
        signature: What it takes.
        function: Its function.
        guards: Bounds what it makes.
        constants: Those of its module's constants that hold tensors, by name.
        episodes: Whether its inputs are whole episodes, whose parts may be of any length.

    Attributes:
        inputs: Names of its inputs, in the order in which it takes them.
        tunables: Names and defaults of its constants.
    """

    def __init__(
        self,
        source: str,
        signature: Signature,
        function: Callable[..., Any],
        guards: Guards,
        constants: dict[str, Any],
        episodes: bool = False,
    ) -> None:
        self.source = source
        self.inputs = signature.inputs
        self.tunables = signature.tunables
        self._function = function
        self._guards = guards
        self._constants = constants
        self._episodes = episodes
        self._names: tuple[str, ...] = ()
        guards.know(constants.values())

    def __call__(self, inputs: Mapping[str, Tensor], tunables: Mapping[str, float | Tensor] = {}) -> Components:
        """Compute the components for N envs.

        Args:
            inputs: Every input of the reward, and any others, each (N,) or (N, k) float32. The reward gets copies.
            tunables: Values for its constants, each a float or (N,); the defaults serve the rest.

        Returns:
            Component name to (N,) float32, already weighted, with their sum, the reward. A reward that returns
            `(total, components)` has one more component, `residual`: the total minus the sum of the others.

        Raises:
            RewardError: The reward raised, returned anything but that, or a component is not finite.
        """
        given = {name: inputs[name] for name in self.inputs}
        like = given[self.inputs[0]]
        try:
            if like.device != self._guards.device:
                self._move_constants(like.device)
            self._begin(list(given.values()))
            # Where a reward makes tensors, as by `torch.zeros(3)`, they are made where its inputs are.
            with contextlib.nullcontext() if like.device.type == "cpu" else like.device:
                own = {name: _copy(each) for name, each in tunables.items()}
                returned = self._function(*map(_copy, given.values()), **own)
            # What is returned may be a constant, and is the caller's to change.
            components = checked_components(_copied(returned) if self._constants else returned, given)
        except RewardError:
            raise
        except Exception as error:
            raise self._explain(error) from error
        self._names = self._names or tuple(components)
        if tuple(components) != self._names:
            message = f"it returned the components {_listed(components)}, in another call {_listed(self._names)}"
            raise RewardError(message, None, "shape", "return the same components in every call")
        return components

    def _begin(self, given: list[Tensor]) -> None:
        num_envs = len(given[0])
        parts = {size for each in given for size in each.shape[1:]}
        if self._episodes:
            parts = {*range(max(parts, default=0) + 1)} - {num_envs}
        self._guards.begin(num_envs, frozenset(parts), max(each[0].numel() for each in given))

    def _move_constants(self, device: torch.device) -> None:
        self._constants = {name: _moved(value, device) for name, value in self._constants.items()}
        self._function.__globals__.update(self._constants)
        self._guards.know(self._constants.values())
        self._guards.device = device

    def _explain(self, error: Exception) -> RewardError:
        line = _line_of(error)
        try:
            text = " ".join(str(error).split())[:300]
        except Exception:  # whatever a reward has put into it
            text = "no text"
        code = self.source.splitlines()[line - 1].strip()[:120] if line else ""
        place = f"`{code}`: " if code else ""
        return RewardError(f"{place}{type(error).__name__}: {text}", line, "exception", _hint(text))


def compile_reward(source: str, *, episodes: bool = False) -> Program:
    """Check and compile a reward.

    Args:
        source: Its source.
        episodes: Whether it is a metric, whose inputs are whole episodes.

    Raises:
        RewardError: It is not written in the reward language, or has no sound signature.
    """
    tree = parse_source(source)
    findings = (tree,) if isinstance(tree, Finding) else check_tree(tree)
    if isinstance(tree, Finding) or findings:
        raise RewardError(findings[0].message, findings[0].line, "exception", findings[0].hint)
    try:
        signature = read_signature(source)
    except RewardgenError as error:
        raise RewardError(error.message, None, "exception", error.hint) from error
    guards = Guards()
    lowered = lower(tree)
    reachable = guards.reachable(lowered.references)
    scope = dict(reachable)
    try:
        exec(compile(lowered.tree, FILENAME, "exec", dont_inherit=True), scope)
        own = [name for name in scope if name not in reachable]
        constants = {name: scope[name] for name in own if guards.holds_tensor(scope[name])}
    except Exception as error:
        text = str(error)[:300]
        raise RewardError(f"{type(error).__name__}: {text}", _line_of(error), "exception", _hint(text)) from error
    return Program(source, signature, scope[ENTRY], guards, constants, episodes)


def _hint(text: str) -> str:
    """What to write instead, by what an exception says."""
    return next((hint for phrase, hint in _HINTS.items() if phrase in text), _INPUTS_HINT)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _copy(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def _copied(value: Any) -> Any:
    """What a reward returned, with tensors of its own."""
    if isinstance(value, dict):
        return {name: _copy(each) for name, each in value.items()}
    return tuple(map(_copied, value)) if isinstance(value, tuple) else _copy(value)


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
        if trace.tb_frame.f_code.co_filename == FILENAME:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


_BATCH_HINT = (
    "a reward is the same for any number of envs: make tensors of that size, as with `torch.zeros(n)` or"
    " `x.view(n, -1)`, and use torch functions over the whole batch"
)
_INPUTS_HINT = "fix that line; inputs are torch tensors, (N,) or (N, k) as the table of variables says"

_HINTS = {
    BOTH_BOUNDS: "write them apart, as in `tolerance(x, lower=bounds[0], upper=bounds[1], margin=0.5)`",
    COUNT_KEPT: _BATCH_HINT,
    "WorldCount": _BATCH_HINT,
    ONE_BY_ONE: _BATCH_HINT,
    NO_NUMBER: "keep tensors: use `torch.where`, torch.maximum and torch's own `sqrt`, `exp` and the like",
    "would mix the envs": "pass `axis=-1`, which reduces the parts of each env; `axis=0` for a list of terms",
    "with a bool tensor": "make it a number first, as with `(height > 1.0).float()`",
    "is too large, the limit": "drop axes of size one, as with `.squeeze(-1)`: (N, 1) with (N,) makes (N, N)",
    "Boolean value of Tensor": "use `torch.where(condition, a, b)`, torch.maximum or torch.minimum, not `if` or `max`",
    "must match the size of tensor": "reduce (N, k) over its last axis with `.sum(-1)`, or index a part as `x[:, 0]`",
    "only one element tensors": "keep tensors: a component is one value per env",
    "can be converted to Scalar": "keep tensors: a component is one value per env",
    "must be Tensor, not float": "make it a tensor, as with `torch.full_like(height, 1.0)`, or use `math.`",
}
