"""The worker job that reads kept episodes: each variable when most changes, and where it was lowest and highest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rewardgen.core.errors import TaskError
from rewardgen.sim.episodes import Episode
from rewardgen.sim.kept_episodes import load_episodes
from rewardgen.sim.moments import choose_moments, crossings, leading_variables, row_values, spans
from rewardgen.tasks.loading import load_task


def digest_job(payload: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Read a file of episodes.

    Args:
        payload: `task`, `file` of episodes, `control_step_s`, `episode_steps`, how many `moments` to read variables at,
            and `rows`: each an input's name, the index of one of its parts (None for its norm if it has any), its unit.
        report: Not used.

    Returns:
        `episodes`: one `EpisodeReading` each, in the order of the file, with a row for each that was asked for.
    """
    kept = load_episodes(Path(payload["file"]))
    longest = max(kept.lengths)
    # As they were recorded: after its end an episode repeats its last step.
    values = {
        name: torch.stack([_padded(each, longest) for each in value.split(kept.lengths)], 1)
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
        rows_of_episode = table[:length, index]
        moments = choose_moments(rows_of_episode, span, payload["moments"])
        action = values["action"][:length, index].flatten(1)
        readings.append(
            {
                "times_s": [(step + 1) * step_s for step in moments],
                "rows": [_row(row, moments, step_s) for row in rows_of_episode.T],
                "parts": {name: float(value[index]) for name, value in parts.items()},
                "action_size": float(action.abs().mean()),
                "action_change": float(action.diff(dim=0).abs().mean()) if length > 1 else 0.0,
            }
        )
    return {"episodes": readings}


def _padded(values: Tensor, steps: int) -> Tensor:
    return torch.cat([values, values[-1:].expand(steps - len(values), *values.shape[1:])])


def _row(values: Tensor, moments: list[int], step_s: float) -> dict[str, Any]:
    lowest, highest = int(values.argmin()), int(values.argmax())
    return {
        "values": values[moments].tolist(),
        "lowest": (float(values[lowest]), (lowest + 1) * step_s),
        "highest": (float(values[highest]), (highest + 1) * step_s),
        "crossings": crossings(values),
    }


def _parts(task: str, episode: Episode) -> dict[str, Tensor]:
    """Return the named parts of the task's metric; none if it has no metric, or the metric fails here."""
    try:
        measured = load_task(task).measured(episode)
    except TaskError:  # kept episodes hold only what rewards read
        return {}
    return measured.parts if measured else {}
