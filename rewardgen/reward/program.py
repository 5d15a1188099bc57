"""A compiled reward: its checked source, run with the names of the reward language alone.

For workers: it needs torch and runs generated code.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import contextlib
import copy
import importlib
import sys
from collections.abc import Iterable, Mapping
from types import CodeType, SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from rewardgen.core.errors import RewardgenError
from rewardgen.reward import vocabulary
from rewardgen.reward.caps import Caps, bounded_range
from rewardgen.reward.contract import FINITE_HINT, Components, RewardError, checked_components
from rewardgen.reward.language import check_language
from rewardgen.reward.numpy_aliases import NUMPY
from rewardgen.reward.observation import OBSERVE, OBSERVED, observed_names
from rewardgen.reward.parsing import parse_source
from rewardgen.reward.signature import ENTRY, Signature, read_signature
from rewardgen.reward.stages import NEXT_STAGE, stage_names
from rewardgen.reward.tolerance import BOTH_BOUNDS, tolerance

FILENAME = "<reward>"
_COUNTED = "counted__"
"""Name of the loop counter; names with a double underscore are refused."""


class Program:
    """A compiled reward; this one is a function of one transition.

    Every call runs the whole source again, so a reward has no memory between calls.

    Attributes:
        source: Source of the reward.
        inputs: Names of the inputs, in order.
        tunables: Names and defaults of the constants.
        staged: The program itself if it has stages, else None.
        settling_steps: Most steps for which the pay can change while the inputs stay the same; 1 without memory.
        observed: Names of the numbers that `observe` returns; empty without it.
        observes: Names of the inputs of `observe`, but for `stage`.
    """

    staged: StagedProgram | None = None
    settling_steps = 1

    def __init__(self, source: str, signature: Signature, code: CodeType) -> None:
        self.source = source
        self.inputs = signature.inputs
        self.tunables = signature.tunables
        self.observed, self.observes = observed_names(source), signature.observes
        self._functions = signature.functions
        self._code = code
        self._names: tuple[str, ...] = ()

    def price(
        self, inputs: Mapping[str, Tensor], begins: Tensor, carry: Any, tunables: Mapping[str, float]
    ) -> tuple[Components, Any]:
        """Price T steps of N envs, and return the components, (T, N) each, and the carry.

        Args:
            inputs: Name to (T, N, ...) float32; the program works on copies.
            begins: (T, N) bool: True on the first step of an episode.
            carry: Carry of the previous call; None at the start.
            tunables: Values for the constants.

        Raises:
            RewardError: The reward fails, or a component is not finite.
        """
        rows = {name: inputs[name].flatten(0, 1) for name in self.inputs}
        return self(rows, tunables).view(len(begins), -1), carry

    def __call__(self, inputs: Mapping[str, Tensor], tunables: Mapping[str, float] = {}) -> Components:
        """Compute the components of N transitions.

        Args:
            inputs: Every input of the reward, and any others, (N,) or (N, k) float32. The reward gets copies.
            tunables: Values for the constants; missing ones keep their defaults.

        Returns:
            Component name to (N,) float32, already weighted, with their sum, the reward. A reward that returns
            `(total, components)` also has `residual`: the total minus the sum of the components.

        Raises:
            RewardError: The reward raised, returned anything else, or a component is not finite.
        """
        needed = {name: inputs[name] for name in self._functions[ENTRY][0]}
        returned = self.call(ENTRY, needed, tunables)
        try:
            components = checked_components(returned, needed)
        except OverflowError as error:  # an integer that no float can hold
            raise _explained(error, self.source) from error
        self._names = self._names or tuple(components)
        if tuple(components) != self._names:
            message = f"it returned the components {_listed(components)}, in another call {_listed(self._names)}"
            raise RewardError(message, None, "shape", "return the same components in every call")
        return components

    def look(self, inputs: Mapping[str, Tensor], stage: Tensor) -> Tensor:
        """Return what policies see of N states after the task's observation: stages one-hot, then `observed`.

        Args:
            inputs: Every input of `observes`, as of the step that led to the states, name to (N, ...).
            stage: Stage of each env, (N,) int64; without stages it only tells N and the device.

        Raises:
            RewardError: `observe` fails, or returns another shape or a number that is not finite.
        """
        if not self.observed:
            return torch.zeros(len(stage), 0, device=stage.device)
        known, names = {**inputs, "stage": stage}, self._functions[OBSERVE][0]
        arguments = {name: known["action" if name == "prev_action" else name] for name in names}
        seen = self.call(OBSERVE, arguments)
        shape = (len(stage), len(self.observed))
        if type(seen) is not Tensor or seen.shape != shape or seen.device != stage.device:
            kind = f"shape {tuple(seen.shape)} on {seen.device}" if isinstance(seen, Tensor) else type(seen).__name__
            message = f"`{OBSERVE}` returned {kind}, expected (N, {shape[1]}) on {stage.device}, a column for each name"
            hint = f"end with `return torch.stack((...), -1)`, and name each column in `{OBSERVED}`"
            raise RewardError(message, None, "shape", hint)
        seen = seen.to(torch.float32)
        if not bool((finite := seen.isfinite()).all()):
            column = self.observed[int((~finite).any(0).nonzero()[0])]
            message = f"`{column}` of `{OBSERVE}` is not finite in {int((~finite).any(1).sum())} of {len(stage)} envs"
            unknown = next((f"`{name}`" for name in self.observes if not bool(inputs[name].isfinite().all())), "")
            message += f", and neither is its input {unknown}" if unknown else ""
            hint = f"{unknown} is unknown at the start of an episode: take other inputs" if unknown else FINITE_HINT
            raise RewardError(message, None, "non-finite", hint)
        return seen

    def call(self, function: str, inputs: Mapping[str, Tensor], tunables: Mapping[str, float] = {}) -> Any:
        """Call a function of the source with copies of inputs, (N, ...) in order, and return what it returns.

        Constants that the function does not take are left out.

        Raises:
            RewardError: The function raised.
        """
        device = next(iter(inputs.values())).device
        caps = Caps(inputs.values())
        scope = _scope(caps)
        try:
            # New tensors, as of `torch.zeros(3)`, are on the device of the inputs.
            with contextlib.nullcontext() if device.type == "cpu" else device, caps:
                exec(self._code, scope)
                constants = {name: tunables[name] for name in self._functions[function][1] if name in tunables}
                return scope[function](*(value.clone() for value in inputs.values()), **constants)
        except Exception as error:
            raise _explained(error, self.source) from error


class StagedProgram(Program):
    """A compiled reward whose memory is the stage of each env.

    `next_stage` runs step by step, and `compute_reward` then on all steps at once.
    """

    def __init__(self, source: str, signature: Signature, code: CodeType) -> None:
        super().__init__(source, signature, code)
        self.stages = stage_names(source)
        self.staged, self.settling_steps = self, len(self.stages)
        self._transition = signature.functions[NEXT_STAGE][0]

    def price(
        self, inputs: Mapping[str, Tensor], begins: Tensor, carry: Any, tunables: Mapping[str, float]
    ) -> tuple[Components, Any]:
        """Price the steps in order; the carry is the stage of each env, (N,) int64. See `Program`."""
        steps, num_envs = begins.shape
        stage = begins.new_zeros(num_envs, dtype=torch.int64) if carry is None else carry
        before: list[Tensor] = []
        after: list[Tensor] = []
        for step, first in enumerate(begins):
            stage = torch.where(first, 0, stage)
            before.append(stage)
            stage = self.next_stage(stage, {name: inputs[name][step] for name in self.inputs}, tunables)
            after.append(stage)
        rows = {name: inputs[name].flatten(0, 1) for name in self.inputs}
        rows |= {"stage": torch.cat(after), "prev_stage": torch.cat(before)}
        components = self(rows, tunables).view(steps, num_envs)
        components.stage = torch.stack(after)
        return components, stage

    def look(self, inputs: Mapping[str, Tensor], stage: Tensor) -> Tensor:
        """Return the stages, then the numbers of `observe`; see `Program`."""
        stages = torch.nn.functional.one_hot(stage, len(self.stages))
        return torch.cat((stages.float(), super().look(inputs, stage)), 1)

    def next_stage(self, stage: Tensor, inputs: Mapping[str, Tensor], tunables: Mapping[str, float] = {}) -> Tensor:
        """Return the stage of each env after a step, (N,) int64, from the one before it.

        Raises:
            RewardError: The function fails or returns anything else.
        """
        arguments = {**inputs, "stage": stage}
        moved = self.call(NEXT_STAGE, {name: arguments[name] for name in self._transition}, tunables)
        if type(moved) is not Tensor or moved.shape != stage.shape or moved.device != stage.device:
            kind = f"shape {tuple(moved.shape)}" if isinstance(moved, Tensor) else type(moved).__name__
            message = f"`{NEXT_STAGE}` returned {kind}, expected a stage for each env, a tensor of shape (N,)"
            raise RewardError(message, None, "shape", "end with `return torch.where(condition, 1, stage)`")
        whole = moved.to(torch.int64)
        if not bool(((whole == moved) & (whole >= 0) & (whole < len(self.stages))).all()):
            message = f"`{NEXT_STAGE}` returned a number that is no stage: they are 0 to {len(self.stages) - 1}"
            raise RewardError(message, None, "shape", "return indices of `STAGES`, as in `torch.where(done, 1, stage)`")
        return whole


def compile_reward(source: str) -> Program:
    """Check and compile the source of a reward.

    Raises:
        RewardError: The source is not in the reward language, or its signature is invalid.
    """
    findings = check_language(source)
    tree = parse_source(source)
    if findings or not isinstance(tree, ast.Module):
        raise RewardError(findings[0].message, findings[0].line, "exception", findings[0].hint)
    try:
        signature = read_signature(source)
    except RewardgenError as error:
        raise RewardError(error.message, None, "exception", error.hint) from error
    counted = ast.fix_missing_locations(_Counted().visit(copy.deepcopy(tree)))
    try:
        code = compile(counted, FILENAME, "exec", __future__.annotations.compiler_flag, dont_inherit=True)
        caps = Caps()
        with caps:
            exec(code, _scope(caps))
    except Exception as error:
        raise _explained(error, "") from error
    return (StagedProgram if NEXT_STAGE in signature.functions else Program)(source, signature, code)


class _Counted(ast.NodeTransformer):
    """Count loop iterations, and drop decorators, which have no effect."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.decorator_list = []
        return self.generic_visit(node)

    def visit_For(self, node: ast.For | ast.comprehension) -> ast.AST:
        self.generic_visit(node)
        node.iter = ast.copy_location(ast.Call(ast.Name(_COUNTED, ast.Load()), [node.iter], []), node.iter)
        return node

    visit_comprehension = visit_For


# Names in reach.


def _module(dotted: str, **more: Any) -> SimpleNamespace:
    """Make a module with the names of the language only."""
    module = importlib.import_module(dotted)
    return SimpleNamespace(**{name: getattr(module, name) for name in vocabulary.MODULE_NAMES[dotted]}, **more)


_ANNOTATIONS = {name.removeprefix("torch."): None for name in vocabulary.ANNOTATION_ONLY if name.startswith("torch.")}
_F = _module("torch.nn.functional")
_LINALG = _module("torch.linalg")
_TORCH = _module("torch", nn=SimpleNamespace(functional=_F), linalg=_LINALG, **_ANNOTATIONS)
_MODULES = {"torch": _TORCH, "math": _module("math"), "numpy": NUMPY}


class _Unused:
    """A module for annotations, which are never evaluated."""

    def __getattr__(self, name: str) -> None:
        return None


def _import(name: str, _globals: object = None, _locals: object = None, names: Any = (), _level: int = 0) -> Any:
    """Import from the table above. Torch's C++ code also imports through the builtins of the calling frame."""
    top, *parts = name.split(".")
    if name in vocabulary.IMPORTABLE:
        module = _MODULES.get(top, _Unused())
        for part in parts if names else ():
            module = getattr(module, part)
        return module
    if top == "torch" and name in sys.modules:
        return sys.modules[name]
    raise ImportError(f"a reward cannot import {name}")


_BUILTINS = {
    **{name: getattr(builtins, name) for name in vocabulary.BUILTINS | vocabulary.RAISED},
    "range": bounded_range,
    "__import__": _import,
}


def _scope(caps: Caps) -> dict[str, Any]:
    modules = {"torch": _TORCH, "math": _MODULES["math"], "F": _F, "np": NUMPY}
    return {"__builtins__": dict(_BUILTINS), **modules, "tolerance": tolerance, _COUNTED: caps.counted}


# Errors.


def _explained(error: Exception, source: str) -> RewardError:
    if isinstance(error, RewardError):
        return error
    line = _line_of(error)
    try:
        text = " ".join(str(error).split())[:300]
    except Exception:  # a reward may raise an error with a text of its own
        text = "no text"
    code = source.splitlines()[line - 1].strip()[:120] if line and source else ""
    place = f"`{code}`: " if code else ""
    hint = next((hint for phrase, hint in _HINTS.items() if phrase in text), _INPUTS_HINT)
    return RewardError(f"{place}{type(error).__name__}: {text}", line, "exception", hint)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _line_of(error: BaseException) -> int | None:
    """Return the innermost line of the reward in a traceback."""
    line = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == FILENAME:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


_INPUTS_HINT = "fix that line; inputs are torch tensors, (N,) or (N, k) as the table of variables says"
_HINTS = {
    BOTH_BOUNDS: "write them apart, as in `tolerance(x, lower=bounds[0], upper=bounds[1], margin=0.5)`",
    "tolerance() got an unexpected": f"its parameters are {', '.join(vocabulary.TOLERANCE_PARAMETERS)}",
    "with a bool tensor": "make it a number first, as with `(height > 1.0).float()`",
    "is too large, the limit": "drop axes of size one, as with `.squeeze(-1)`: (N, 1) with (N,) makes (N, N)",
    "loop iterations": vocabulary.WHOLE_BATCH,
    "Boolean value of Tensor": "use `torch.where(condition, a, b)`, torch.maximum or torch.minimum, not `if` or `max`",
    "must match the size of tensor": "reduce (N, k) over its last axis with `.sum(-1)`, or index a part as `x[:, 0]`",
    "only one element tensors": "keep tensors: a component is one value per env",
    "can be converted to Scalar": "keep tensors: a component is one value per env",
    "must be Tensor, not float": "make it a tensor, as with `torch.full_like(height, 1.0)`, or use `math.`",
}
