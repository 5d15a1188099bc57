"""A task's metric as one static method in the reward language: named parts, fitness and success of whole episodes.

```python
@staticmethod
def metric(height, turns, lived, *, standing: float = 1.0):
    '''How far it got with one backflip, 0 to 1.

    One full turn backwards, and standing still at the end.
    '''
    turned = (-turns[:, -1]).clamp(0.0, 1.0)
    landed = tolerance(height[:, -25:], lower=standing, upper=2.0, margin=0.5).mean(1) * lived[:, -1]
    return {"turned": turned, "landed": landed, "fitness": turned * landed, "success": (turned * landed) > 0.9}
```
The first paragraph of its docstring is what `fitness` means, the second what `success` means.

Inputs are (N, T) or (N, T, k): N whole episodes of T control steps each, always a full episode's; after its end
an episode repeats its last step. Variables and `action` are there by name, and `metric_contract.EXTRAS`. As a reward, a
metric reaches nothing else, and what it may do is bounded (`rewardgen.reward`), so one that nobody has read yet can be
run.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from rewardgen.core.errors import TaskError
from rewardgen.reward.contract import RESIDUAL
from rewardgen.reward.pricing import price_rows
from rewardgen.reward.program import RewardError, compile_reward
from rewardgen.sim.episodes import Episode
from rewardgen.tasks.baselines import own_program
from rewardgen.tasks.metric_contract import FITNESS, METRIC, MOST_PARTS, SUCCESS
from rewardgen.tasks.protocol import Task

_TOGETHER = 251
"""Episodes of each call, filled up with the last one: so the number of episodes tells a metric nothing."""
_RANGE = 1e-3
"""A part may be outside [0, 1] by so much."""


class Measured(NamedTuple):
    """What a task says of N episodes.

    Attributes:
        fitness: (N,).
        success: (N,) bool.
        parts: Name of each part of its metric to its values, (N,) from 0 to 1; empty for a task without one.
    """

    fitness: Tensor
    success: Tensor
    parts: dict[str, Tensor]


class Metric:
    """The compiled metric of a task.

    Args:
        source: Its source, as a reward.

    Raises:
        RewardError: It is not written in the reward language.
    """

    def __init__(self, source: str) -> None:
        self._program = compile_reward(source)

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of its inputs."""
        return self._program.inputs

    def __call__(self, episode: Episode) -> Measured:
        """Measure whole episodes.

        Args:
            episode: N episodes.

        Raises:
            RewardError: It raised, or returned anything but parts in [0, 1], `fitness` and `success`.
        """
        inputs = metric_inputs(episode, self._program.inputs)
        count = len(episode.lengths)
        found = [self._call(inputs, range(start, start + _TOGETHER), count) for start in range(0, count, _TOGETHER)]
        values = {name: torch.cat([each[name] for each in found])[:count] for name in found[0]}
        fitness, success = values.pop(FITNESS), values.pop(SUCCESS) > 0.5
        return Measured(fitness, success, {name: each.clamp(0.0, 1.0) for name, each in values.items()})

    def _call(self, inputs: Mapping[str, Tensor], rows: range, count: int) -> dict[str, Tensor]:
        picked = torch.tensor([min(row, count - 1) for row in rows])
        values = price_rows(self._program, {name: each[picked.to(each.device)] for name, each in inputs.items()})
        if RESIDUAL in values:
            raise RewardError(f"it returns a total, or a part `{RESIDUAL}`", None, "shape", f"{_PARTS_HINT} in a dict")
        for name in (FITNESS, SUCCESS):
            if name not in values:
                hint = f'end with `return {{"first_part": ..., "{FITNESS}": fitness, "{SUCCESS}": success}}`'
                raise RewardError(f"it returns no `{name}`", None, "shape", hint)
        parts = [name for name in values if name not in (FITNESS, SUCCESS)]
        if not 0 < len(parts) <= MOST_PARTS:
            raise RewardError(f"it returns {len(parts)} parts, expected 1 to {MOST_PARTS}", None, "shape", _PARTS_HINT)
        for name in parts:
            low, high = (float(each) for each in torch.aminmax(values[name]))
            if low < -_RANGE or high > 1.0 + _RANGE:
                seen = f"{low:.3g}" if low < -_RANGE else f"{high:.3g}"
                raise RewardError(f"the part `{name}` is {seen}", None, "shape", _PARTS_HINT, name)
        return values


def metric_of(task: Task) -> Metric | None:
    """The metric of a task; None if it has `fitness` and `success` of its own.

    Args:
        task: The task.

    Raises:
        TaskError: Its metric cannot be compiled.
    """
    program = own_program(task, METRIC)
    if program is None:
        return None
    try:
        return Metric(program.source)
    except RewardError as error:
        raise metric_fault(task, error) from error


def metric_fault(task: Task, error: RewardError) -> TaskError:
    """An error in the metric of a task, told with the line of the task file.

    Args:
        task: The task.
        error: As `Metric` raised it.
    """
    program = own_program(task, METRIC)
    assert program is not None
    return program.fault(error.line, error.message, error.hint)


def metric_words(task: Task) -> dict[str, str]:
    """What `fitness` and `success` mean: the first paragraph of the metric's docstring, and the others.

    Args:
        task: The task.

    Raises:
        TaskError: It lacks one of the two.
    """
    text = inspect.cleandoc(getattr(type(task), METRIC).__doc__ or "")
    paragraphs = [" ".join(each.split()) for each in text.split("\n\n") if each.strip()]
    # Of more than two, nothing is lost: what follows the first is about success.
    told = [*paragraphs[:1], " ".join(paragraphs[1:])] if len(paragraphs) > 1 else paragraphs
    # They are told after the name, which an author may have put there too.
    named = zip((FITNESS, SUCCESS), told, strict=False)
    words = {name: re.sub(rf"^`?{name}`?:\s+", "", text, flags=re.IGNORECASE) for name, text in named}
    for name, which in ((FITNESS, "first"), (SUCCESS, "second")):
        if name not in words:
            hint = f"say there what `{name}` means: the designer of rewards reads it"
            raise TaskError(f"the docstring of `{METRIC}` has no {which} paragraph", hint)
    return words


def metric_inputs(episode: Episode, names: Collection[str]) -> dict[str, Tensor]:
    """Inputs of a metric, float32 and episodes first.

    Args:
        episode: N episodes.
        names: Which inputs.

    Raises:
        RewardError: The episodes have no such variable.
    """
    steps = torch.arange(episode.max_steps, device=episode.lengths.device)
    shown = torch.minimum(steps, episode.lengths[:, None] - 1)  # they may be cut where the longest of them ends
    env = torch.arange(len(shown), device=shown.device)[:, None]
    extras = {
        "lived": lambda: steps < episode.lengths[:, None],
        "time": lambda: ((steps + 1) * episode.control_step_s).expand(len(episode.lengths), -1),
        "terminated": lambda: episode.terminated,
    }
    for name in names:
        if name not in extras and name not in episode:
            raise RewardError(f"there is no variable `{name}`", None, "exception", "take those of the task's table")
    return {name: (extras[name]() if name in extras else episode[name][shown, env]).to(torch.float32) for name in names}


_PARTS_HINT = f"return one to {MOST_PARTS} named parts, each from 0 to 1, as with `.clamp(0.0, 1.0)`"
