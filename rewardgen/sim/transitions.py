"""Recorded transitions, which the critic tries rewards on: as a value and as a file.

They hold no fitness, no success and no task code, because processes that run generated code read them.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from rewardgen.core.errors import UsageError
from rewardgen.core.files import write_atomic
from rewardgen.core.schema import Frozen
from rewardgen.sim.arrays import read_arrays
from rewardgen.sim.variables import Flip, Pair, Shift, Wrap

Source = Literal["random", "zero", "perturbed", "scripted", "expert"]
SOURCES: tuple[Source, ...] = ("random", "zero", "perturbed", "scripted", "expert")
"""Origins of a row: random actions, no action, random actions after a start that no policy would reach, the task's
own controller, or a policy trained with its human reward."""

_ROWS = {"episode": np.int32, "step": np.int32, "source": np.int8, "terminated": np.bool_}
_FACTS = "facts"


class TransitionFacts(Frozen):
    """Facts of the task that probes need."""

    retired = frozenset({"discount", "ends_early", "episode_steps", "observations", "radians", "success_terminates"})

    bounds: dict[str, float] = {}
    """Largest possible magnitude of an input, such as 1 for a cosine."""
    flags: tuple[str, ...] = ()
    """Names of variables that are always 0 or 1."""
    pairs: tuple[Pair, ...] = ()
    invariances: tuple[Annotated[Shift | Flip | Wrap, Field(discriminator="kind")], ...] = ()


@dataclass(frozen=True)
class TransitionSet:
    """M recorded transitions, sorted by episode, then by step."""

    inputs: dict[str, Tensor]  # of rewards, (M,) or (M, k) float32
    episode: Tensor  # number of the row's episode, (M,) int32, rising
    step: Tensor  # control steps since the episode began, (M,) int32; 1 on its first step
    source: Tensor  # index into `SOURCES`, (M,) int8
    terminated: Tensor  # True where a termination condition ended the episode, (M,) bool
    facts: TransitionFacts

    def __len__(self) -> int:
        return len(self.episode)

    def of(self, *sources: Source) -> Tensor:
        """Mask of the rows from some sources, (M,) bool."""
        return torch.isin(self.source, torch.tensor([SOURCES.index(source) for source in sources], dtype=torch.int8))

    @cached_property
    def typical(self) -> Tensor:
        """Mask of rows from the task's own initial states, (M,) bool; all rows if there are none."""
        rows = ~self.of("perturbed")
        return rows if bool(rows.any()) else ~rows

    @cached_property
    def beginners(self) -> Tensor:
        """Mask of rows without those of the expert, (M,) bool: states that an untrained policy meets."""
        return ~self.of("expert")

    @cached_property
    def reachable(self) -> Tensor:
        """Mask of rows without perturbed starts that ended at once, which no policy reaches, (M,) bool."""
        return ~(self.terminated & (self.step == 1) & self.of("perturbed"))

    @cached_property
    def still(self) -> dict[str, Tensor]:
        """Inputs as if nothing had changed since the step before, (M, ...) each."""
        return {name: self.inputs.get(name.removeprefix("prev_"), value) for name, value in self.inputs.items()}


def save_transitions(path: Path, bank: TransitionSet) -> None:
    """Write a bank to an `.npz` file, atomically; equal banks make equal files. Raises a RunFolderError if it fails."""
    rows = {f"row.{name}": getattr(bank, name).numpy(force=True).astype(kind) for name, kind in _ROWS.items()}
    inputs = {f"input.{name}": value.numpy(force=True) for name, value in bank.inputs.items()}
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {**inputs, **rows, _FACTS: np.array(bank.facts.model_dump_json())}
    np.savez(buffer, allow_pickle=False, **arrays)
    write_atomic(path, buffer.getvalue())


def load_transitions(path: Path) -> TransitionSet:
    """Read a file of `save_transitions`; raise a UsageError if it is missing or damaged, or of another version."""
    try:
        return _bank(read_arrays(path))
    except (OSError, ValueError, KeyError, TypeError, UsageError) as error:
        hint = "delete it; it is recorded again when it is missing"
        raise UsageError(f"cannot read the recorded transitions {path}: {error}", hint) from error


def _bank(arrays: dict[str, NDArray[Any]]) -> TransitionSet:
    rows = {name: torch.from_numpy(arrays[f"row.{name}"].astype(kind)) for name, kind in _ROWS.items()}
    inputs = {
        name.removeprefix("input."): torch.from_numpy(value.astype(np.float32))
        for name, value in arrays.items()
        if name.startswith("input.")
    }
    if {len(value) for value in (*inputs.values(), *rows.values())} != {len(rows["episode"])}:
        raise ValueError("its columns differ in length")
    return TransitionSet(inputs=inputs, facts=TransitionFacts.model_validate_json(str(arrays[_FACTS])), **rows)


def differing(pair: Pair) -> set[str]:
    """Return the variables in which a pair's situations differ."""
    return {name for name, value in pair.better.items() if pair.worse[name] != value}


def between(rows: dict[str, Tensor], pair: Pair, shares: Tensor) -> dict[str, Tensor]:
    """Set the variables of a pair, and their `prev_`, to points on the line from worse to better.

    Takes inputs of rewards, (n, ...), and points, (p,): 0 for worse, 1 for better. Returns inputs, (p * n, ...), one
    point after the other.
    """
    count = len(next(iter(rows.values())))
    placed = {name: value.repeat(len(shares), *[1] * (value.dim() - 1)) for name, value in rows.items()}
    for name, value in placed.items():
        variable = name.removeprefix("prev_")
        if variable in pair.better:
            settings = (torch.as_tensor(side[variable], dtype=torch.float32) for side in (pair.worse, pair.better))
            low, high = (setting.expand(value.shape[1:]) for setting in settings)
            share = shares.repeat_interleave(count).view(-1, *[1] * (value.dim() - 1))
            value.copy_(low + share * (high - low))
    return placed
