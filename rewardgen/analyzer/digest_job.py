"""Worker job: read kept episodes, with each variable at the moments of most change and at its extremes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rewardgen.core.errors import TaskError
from rewardgen.sim.episodes import Episode
from rewardgen.sim.kept_episodes import load_episodes
from rewardgen.sim.moments import choose_moments, crossings, leading_variables, row_values, spans, unwrapped
from rewardgen.tasks.loading import load_task


def digest_job(payload: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Read a file of episodes.

    Args:
        payload: `task`, `file` of episodes, `control_step_s`, `episode_steps`, how many `moments` to read variables at,
            and `rows`: name of an input, index of one of its parts (None for a scalar, or the norm of a vector), unit.
        report: Not used.

    Returns:
        `episodes`: an `EpisodeReading` per episode of the file, in order, with the requested rows.
    """
    kept = load_episodes(Path(payload["file"]))
    longest = max(kept.lengths)
    # After its end an episode repeats its last step, as when it was recorded.
    values = {
        name: torch.stack([_padded(steps, longest) for steps in value.split(kept.lengths)], 1)
        for name, value in kept.inputs.items()
        if not name.startswith("prev_")
    }
    lengths = torch.tensor(kept.lengths)
    step_s, most = payload["control_step_s"], payload["episode_steps"]
    parts = _parts(payload["task"], Episode(values, lengths, lengths < most, step_s, most))
    readings = []
    table = torch.stack([row_values(values[name], part) for name, part, _ in payload["rows"]], -1)
    leading = leading_variables({name: unit for name, _, unit in payload["rows"]})
    span = spans(table.flatten(0, 1), [name for name, _, _ in payload["rows"]], leading)
    for index, length in enumerate(kept.lengths):
        rows = table[:length, index]
        passes = [crossings(values) for values in unwrapped(rows).T]
        moments = choose_moments(rows, span, payload["moments"])
        action = values["action"][:length, index].flatten(1)
        readings.append(
            {
                "times_s": [(step + 1) * step_s for step in moments],
                "rows": [_row(*row, moments, step_s) for row in zip(rows.T, passes, strict=True)],
                "parts": {name: float(value[index]) for name, value in parts.items()},
                "action_size": float(action.abs().mean()),
                "action_change": float(action.diff(dim=0).abs().mean()) if length > 1 else 0.0,
            }
        )
    return {"episodes": readings}


def _padded(values: Tensor, steps: int) -> Tensor:
    return torch.cat([values, values[-1:].expand(steps - len(values), *values.shape[1:])])


def _row(values: Tensor, passes: int, moments: list[int], step_s: float) -> dict[str, Any]:
    lowest, highest = int(values.argmin()), int(values.argmax())
    return {
        "values": values[moments].tolist(),
        "lowest": (float(values[lowest]), (lowest + 1) * step_s),
        "highest": (float(values[highest]), (highest + 1) * step_s),
        "crossings": passes,
    }


def _parts(task: str, episode: Episode) -> dict[str, Tensor]:
    """Return the named parts of the task's metric; none if the task has no metric, or the metric fails here."""
    try:
        measured = load_task(task).measured(episode)
    except TaskError:  # kept episodes hold only what rewards read
        return {}
    return measured.parts if measured else {}
