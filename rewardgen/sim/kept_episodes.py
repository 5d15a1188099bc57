"""Episodes of the clean evaluation, kept to try later rewards on before training.

The files hold inputs of rewards, but no fitness and no success, which stay with the orchestrator.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from rewardgen.core.errors import RunFolderError
from rewardgen.sim.arrays import read_arrays
from rewardgen.sim.episodes import Episode, with_previous
from rewardgen.sim.vec_env import HIDDEN

_LENGTHS = "lengths"


class KeptInputs(NamedTuple):
    """Inputs of rewards over several episodes, one after the other."""

    inputs: dict[str, Tensor]
    """Variables, `action`, and `prev_` of each, name to (M, ...) float32."""
    lengths: tuple[int, ...]
    """Control steps of each episode; their sum is M."""


def choose_episodes(fitness: Tensor, count: int) -> list[int]:
    """Choose `count` >= 2 episodes by fitness (E,), evenly spread over their ranks from best to worst."""
    order = fitness.argsort(descending=True, stable=True).tolist()
    places = [round(number * (len(order) - 1) / (count - 1)) for number in range(count)]
    return [order[place] for place in dict.fromkeys(places)]


def pack_episodes(episode: Episode, chosen: Sequence[int], *, hidden: bool = False) -> bytes:
    """Return the content of a file with the `chosen` of N episodes, in that order, up to their ends.

    With `hidden` it includes inputs that only the task's own rewards may read.
    """
    lengths = [int(episode.lengths[env]) for env in chosen]
    arrays = {
        name: np.concatenate(
            [value[:length, env].float().numpy(force=True) for env, length in zip(chosen, lengths, strict=True)]
        )
        for name, value in episode.items()
        if hidden or name not in HIDDEN
    }
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **{_LENGTHS: np.array(lengths, np.int64)}, **arrays)
    return buffer.getvalue()


def load_episodes(path: Path) -> KeptInputs:
    """Read a file of `pack_episodes`; raise a RunFolderError if it is missing or damaged."""
    try:
        arrays = read_arrays(path)
        lengths = tuple(arrays.pop(_LENGTHS).tolist())
        values = {name: torch.from_numpy(value) for name, value in arrays.items()}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunFolderError(f"cannot read the episodes {path}: {error}", "start a new run") from error
    if any(len(value) != sum(lengths) for value in values.values()):
        raise RunFolderError(f"the episodes {path} are damaged: their arrays differ in length", "start a new run")
    first = torch.cat([torch.arange(length) == 0 for length in lengths])
    earlier = {name: value.roll(1, 0) for name, value in values.items()}
    return KeptInputs(with_previous(values, earlier, first), lengths)
