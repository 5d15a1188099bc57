"""A task's metric: one static method in the reward language that returns named parts, fitness and success.

```python
@staticmethod
def metric(height, turns, lived, *, standing: float = 1.0):
    '''Progress of one backflip, 0 to 1.

    One full turn backwards, and standing still at the end.
    '''
    turned = (-turns[:, -1]).clamp(0.0, 1.0)
    landed = tolerance(height[:, -25:], lower=standing, upper=2.0, margin=0.5).mean(1) * lived[:, -1]
    return {"turned": turned, "landed": landed, "fitness": turned * landed, "success": (turned * landed) > 0.9}
```
The first paragraph of its docstring says what `fitness` means, the second what `success` means.

Inputs are (N, T) or (N, T, k): N episodes, each T control steps long, always a full episode's; after an episode's end
its last step repeats. Names are the variables, `action`, and `METRIC_EXTRAS`. Like a reward, a metric reaches nothing
else and is bounded in what it does, so an unread one can be run.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Mapping

import torch
from torch import Tensor

from rewardgen.core.errors import TaskError
from rewardgen.reward.contract import RESIDUAL
from rewardgen.reward.pricing import price_rows
from rewardgen.reward.program import RewardError, compile_reward
from rewardgen.sim.episodes import Episode
from rewardgen.tasks.protocol import FITNESS, METRIC, MOST_PARTS, SUCCESS, EpisodeMeasures, Task

_TOGETHER = 251
"""Episodes per call, padded with the last one, so that the number of episodes tells a metric nothing."""
_SLACK = 1e-3
"""Largest distance of a part from [0, 1]."""
_PARTS_HINT = f"return one to {MOST_PARTS} named parts, each from 0 to 1, as with `.clamp(0.0, 1.0)`"


class Metric:
    """The compiled metric of a task.

    Args:
        source: Its source, as a reward.

    Raises:
        RewardError: The source is not in the reward language.
    """

    def __init__(self, source: str) -> None:
        self._program = compile_reward(source)

    def __call__(self, episode: Episode) -> EpisodeMeasures:
        """Measure N whole episodes.

        Raises:
            RewardError: The metric raised, or returned anything but parts in [0, 1], `fitness` and `success`.
        """
        inputs = metric_inputs(episode, self._program.inputs)
        count = len(episode.lengths)
        blocks = [self._call(inputs, range(start, start + _TOGETHER), count) for start in range(0, count, _TOGETHER)]
        values = {name: torch.cat([block[name] for block in blocks])[:count] for name in blocks[0]}
        fitness, success = values.pop(FITNESS), values.pop(SUCCESS) > 0.5
        return EpisodeMeasures(fitness, success, {name: part.clamp(0.0, 1.0) for name, part in values.items()})

    def _call(self, inputs: Mapping[str, Tensor], rows: range, count: int) -> dict[str, Tensor]:
        chosen = torch.tensor([min(row, count - 1) for row in rows])
        values = price_rows(self._program, {name: value[chosen.to(value.device)] for name, value in inputs.items()})
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
            low, high = (float(bound) for bound in torch.aminmax(values[name]))
            if low < -_SLACK or high > 1.0 + _SLACK:
                value = low if low < -_SLACK else high
                raise RewardError(f"the part `{name}` is {value:.3g}", None, "shape", _PARTS_HINT, name)
        return values


def metric_words(task: Task) -> dict[str, str]:
    """Return the meaning of `fitness` and `success`: the first paragraph of the metric's docstring, and the others.

    Raises:
        TaskError: The docstring has fewer than two paragraphs.
    """
    text = inspect.cleandoc(task.metric.__doc__ or "")
    paragraphs = [" ".join(paragraph.split()) for paragraph in text.split("\n\n") if paragraph.strip()]
    if len(paragraphs) < 2:
        name, which = (SUCCESS, "second") if paragraphs else (FITNESS, "first")
        hint = f"say there what `{name}` means: the designer of rewards reads it"
        raise TaskError(f"the docstring of `{METRIC}` has no {which} paragraph", hint)
    texts = {FITNESS: paragraphs[0], SUCCESS: " ".join(paragraphs[1:])}
    # The card writes the name before the text, and an author may have done so too.
    return {name: re.sub(rf"^`?{name}`?:\s+", "", text, flags=re.IGNORECASE) for name, text in texts.items()}


def metric_inputs(episode: Episode, names: Collection[str]) -> dict[str, Tensor]:
    """Return inputs of a metric, float32 and episodes first."""
    steps = torch.arange(episode.max_steps, device=episode.lengths.device)
    rows = torch.minimum(steps, episode.lengths[:, None] - 1)  # a recording may stop where its longest episode ends
    envs = torch.arange(len(rows), device=rows.device)[:, None]
    extras = {
        "lived": lambda: steps < episode.lengths[:, None],
        "time": lambda: ((steps + 1) * episode.control_step_s).expand(len(episode.lengths), -1),
        "terminated": lambda: episode.terminated,
    }
    for name in names:
        if name not in extras and name not in episode:
            raise RewardError(f"there is no variable `{name}`", None, "exception", "take those of the task's table")
    return {name: (extras[name]() if name in extras else episode[name][rows, envs]).to(torch.float32) for name in names}
