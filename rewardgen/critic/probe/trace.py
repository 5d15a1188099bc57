"""A traced run: what a reward's own lines compute from recorded states, operation by operation.

A bound, a temperature or an angle inside a reward does not show in its components. Torch hands every operation on
tensors to a `TorchFunctionMode`, so one call of the compiled reward gives them all, through helpers, loops and
containers, with the values that they had; nothing in the text needs to be followed or rewritten.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor
from torch.overrides import TorchFunctionMode

from rewardgen.reward import tolerance
from rewardgen.reward.program import FILENAME

_MOST_STEPS = 2000
_REFLECTED = frozenset(["radd", "rsub", "rmul", "rdiv", "rtruediv", "rpow"])
_NAMES = {
    **{"truediv": "div", "divide": "div", "true_divide": "div", "subtract": "sub", "multiply": "mul"},
    **{"negative": "neg", "absolute": "abs", "float_power": "pow"},
}


@dataclass(eq=False)
class Step:
    """One operation, or an input.

    Attributes:
        op: The function's name in lower case without underscores, such as `exp`, `div` or `getitem`; `input` for an
            input, and `tolerance` for all that is computed within it.
        operands: What it was given, in order: the steps that made its tensors, and everything else as it was.
        value: Its result, (M, ...).
        line: Line of the reward.
        name: Of an input.
    """

    op: str
    operands: tuple[Any, ...]
    value: Tensor
    line: int | None = None
    name: str = ""


def ancestors(steps: Iterable[Step], enters: Callable[[Step, int], bool] = lambda step, place: True) -> Iterator[Step]:
    """Steps and those that they were computed from, each once.

    Args:
        steps: The last ones.
        enters: Whether to go on to the operand at a place of a step.
    """
    seen: set[int] = set()
    waiting = list(steps)
    while waiting:
        step = waiting.pop()
        if id(step) not in seen:
            seen.add(id(step))
            yield step
            operands = [each for place, each in enumerate(step.operands) if enters(step, place)]
            waiting += [each for each in operands if isinstance(each, Step)]


class _Recorder(TorchFunctionMode):
    def __init__(self, inputs: Mapping[str, Tensor]) -> None:
        super().__init__()
        self.steps = [Step("input", (), value, name=name) for name, value in inputs.items()]
        self._made = {id(each.value): each for each in self.steps}
        self._copies: list[Tensor] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if len(self.steps) < _MOST_STEPS:
            line, within = _place()
            if line is not None:
                self._note(func, args, kwargs or {}, result, line, within)
            elif func.__name__ == "clone" and id(args[0]) in self._made:  # the reward is given copies of its inputs
                self._made[id(result)] = self._made[id(args[0])]
                self._copies.append(result)
        return result

    def _note(self, func: Any, args: Any, kwargs: Any, result: Any, line: int, within: bool) -> None:
        operands = tuple(self._made.get(id(each), each) for each in _flat((*args, *kwargs.values())))
        name = func.__name__.strip("_").lower()
        if name in _REFLECTED:
            name, operands = name[1:], operands[::-1]
        if name == "setitem":
            result = args[0]
        for each in _flat((result,)):
            if isinstance(each, Tensor):
                step = Step("tolerance" if within else _NAMES.get(name, name), operands, each, line)
                self.steps.append(step)
                self._made[id(each)] = step


def trace(call: Callable[[dict[str, Tensor]], object], inputs: Mapping[str, Tensor]) -> list[Step]:
    """Run a reward once and note what it computes, as far as the first some thousand operations.

    Args:
        call: The reward.
        inputs: What it reads, (M, ...).

    Returns:
        The inputs, then the operations in their order.

    Raises:
        RewardError: The reward fails.
    """
    recorder = _Recorder(inputs)
    with recorder:
        call(dict(inputs))
    return recorder.steps


def _place() -> tuple[int | None, bool]:
    """The line of the reward that is being run, None outside of it, and whether that is inside `tolerance`."""
    frame, within = sys._getframe(2), False
    while frame is not None:
        if frame.f_code.co_filename == FILENAME:
            return frame.f_lineno, within
        within = within or frame.f_code.co_filename == tolerance.__file__
        frame = frame.f_back
    return None, within


def _flat(values: Any) -> Iterator[Any]:
    """What lists and tuples hold, at any depth."""
    for each in values:
        if isinstance(each, list | tuple):
            yield from _flat(each)
        else:
            yield each
