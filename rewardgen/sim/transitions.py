"""The bank of transitions as a value and as a file: inputs of rewards, the episode of each row, facts of the task.

Holds no fitness and no success, and none of the task's code: it goes to processes that run generated code.
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
"""Origin of a row: random actions, no action, random actions after a start that no policy would reach, the
task's own controller, or a policy that was trained with its human reward."""

_ROWS = {"episode": np.int32, "step": np.int32, "source": np.int8, "terminated": np.bool_}
_FACTS = "facts"


class TransitionFacts(Frozen):
    """Facts of the task for probes, besides transitions."""

    discount: float = 0.99
    """Discount of the learner; recordings do not depend on it."""
    episode_steps: int = 1000
    success_terminates: bool = False
    ends_early: bool = False
    """True if an episode can end without success."""
    bounds: dict[str, float] = {}
    """Inputs that can never be larger than this in size, such as a cosine or the action."""
    radians: tuple[str, ...] = ()
    """Variables that are angles."""
    flags: tuple[str, ...] = ()
    """Variables that are either 0 or 1, though perhaps only one of them was recorded."""
    observations: str = ""
    """Digest of what policies saw on the way. No reward reads it: it tells whether two tasks show a policy the same."""
    pairs: tuple[Pair, ...] = ()
    invariances: tuple[Annotated[Shift | Flip | Wrap, Field(discriminator="kind")], ...] = ()


@dataclass(frozen=True)
class TransitionSet:
    """Recorded transitions, each episode's rows side by side in the order of their steps.

    Attributes:
        inputs: Input of rewards to its values, (M,) or (M, k) float32.
        episode: Which episode each row is of, (M,) int32, rising.
        step: Control steps since that episode began, (M,) int32; 1 on its first step.
        source: Index into `SOURCES`, (M,) int8.
        terminated: Whether a termination condition ended the episode at this row, (M,) bool.
        facts: What else is known of the task.
    """

    inputs: dict[str, Tensor]
    episode: Tensor
    step: Tensor
    source: Tensor
    terminated: Tensor
    facts: TransitionFacts

    def __len__(self) -> int:
        return len(self.episode)

    def of(self, *sources: Source) -> Tensor:
        """Mask of the rows from any of these sources, (M,) bool."""
        return torch.isin(self.source, torch.tensor([SOURCES.index(each) for each in sources], dtype=torch.int8))

    @cached_property
    def typical(self) -> Tensor:
        """Rows that policies produced from the task's own initial states, (M,) bool; all rows if there are none."""
        rows = ~self.of("perturbed")
        return rows if bool(rows.any()) else ~rows

    @cached_property
    def beginners(self) -> Tensor:
        """Rows but those of the expert, (M,) bool: what a policy meets before it has learnt anything."""
        return ~self.of("expert")

    @cached_property
    def reachable(self) -> Tensor:
        """Rows but those of perturbed starts that were over at once, where no policy gets, (M,) bool."""
        return ~(self.terminated & (self.step == 1) & self.of("perturbed"))

    @cached_property
    def still(self) -> dict[str, Tensor]:
        """The inputs as if nothing had changed since the step before, each (M, ...)."""
        return {name: self.inputs.get(name.removeprefix("prev_"), value) for name, value in self.inputs.items()}


def save_transitions(path: Path, bank: TransitionSet) -> None:
    """Write a bank to an `.npz` file, atomically; equal banks make equal files.

    Raises:
        RunFolderError: The disk is full, or the folder cannot be written.
    """
    rows = {f"row.{name}": getattr(bank, name).numpy(force=True).astype(kind) for name, kind in _ROWS.items()}
    inputs = {f"input.{name}": value.numpy(force=True) for name, value in bank.inputs.items()}
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {**inputs, **rows, _FACTS: np.array(bank.facts.model_dump_json())}
    np.savez(buffer, allow_pickle=False, **arrays)
    write_atomic(path, buffer.getvalue())


def load_transitions(path: Path) -> TransitionSet:
    """Read a bank.

    Args:
        path: An `.npz` file written by `save_transitions`.

    Raises:
        UsageError: The file is missing, damaged, or of another version.
    """
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
