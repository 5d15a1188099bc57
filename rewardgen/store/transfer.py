"""Policies measured under changed physics: `transfer/CANDIDATE.json` in the run's folder."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, Field, FiniteFloat, ValidationError

from rewardgen.core.errors import RewardgenError
from rewardgen.core.files import read_plain, write_atomic
from rewardgen.core.formatting import shortened
from rewardgen.core.physics import own_value
from rewardgen.core.schema import Frozen, Text
from rewardgen.core.statistics import Interval, bootstrap_interval, proportion_interval
from rewardgen.store.measurements import Share
from rewardgen.store.names import CandidateId
from rewardgen.store.run_folder import RunFolder

TRANSFER, _MOST_BYTES = "transfer", 4 << 20
_MOST_CHARS = 300
"""Longest reason for a range [characters]."""
STILL_EARNS = 0.5
"""Share of the fitness kept from which policies count as still earning."""
_Range = Annotated[str, Field(pattern=r"^[a-z]+=[\d.]+(:[\d.]+)?$")]
Physics = Annotated[tuple[_Range, ...], Field(max_length=16)]
"""Values and ranges as on the command line; none for the task's own physics."""


class Condition(Frozen):
    """Results of the policies under one setting of the physics."""

    physics: Physics
    fitness: dict[int, FiniteFloat] = {}
    """Mean over the episodes by training seed; without policies that could not be measured."""
    success: dict[int, Share] = {}


class ChosenRange(Frozen):
    """A range to train with, and the reason of the language model that chose it."""

    range: _Range
    why: Annotated[Text, AfterValidator(lambda text: shortened(" ".join(text.split()), _MOST_CHARS))]


class TransferRow(NamedTuple):
    """A condition over all seeds."""

    physics: tuple[str, ...]
    name: str
    """The parameter, where one has one value; else empty."""
    value: float
    fitness: Interval | None
    """Interquartile mean; None if a policy could not be measured."""
    by_seed: tuple[float, ...]
    success: Interval | None
    kept: float | None
    """Fitness between the better trivial policy, 0, and the task's own physics, 1; None if no policy beats trivial."""


class Transfer(Frozen):
    """Measurements of one candidate's policies under changed physics."""

    candidate: CandidateId
    trained: Physics = ()
    """Ranges with which the policies were trained."""
    episodes: int = Field(ge=1)
    """Episodes of each policy under each condition."""
    seeds: tuple[int, ...] = Field(min_length=1, max_length=1000)
    trivial: FiniteFloat
    """Fitness of the better trivial policy with the task's own physics."""
    conditions: tuple[Condition, ...] = Field(min_length=1, max_length=100)
    """The task's own physics first, then single values, then all ranges together."""
    chosen: tuple[ChosenRange, ...] = Field(default=(), max_length=16)
    """Ranges that a language model chose to train with."""
    chosen_by: Text = ""
    """Name of that model."""

    def rows(self) -> list[TransferRow]:
        """Return a row per condition."""
        return [self._row(condition) for condition in self.conditions]

    def _row(self, condition: Condition) -> TransferRow:
        fitness, own = self._fitness(condition), self._fitness(self.conditions[0])
        gain = own.value - self.trivial if own else 0.0
        kept = (fitness.value - self.trivial) / gain if fitness and gain > 0.0 else None
        rates, by_seed = [*condition.success.values()], tuple(condition.fitness.values())
        success = proportion_interval(rates, self.episodes) if len(rates) == len(self.seeds) else None
        only = condition.physics[0] if len(condition.physics) == 1 and ":" not in condition.physics[0] else "=0"
        name, _, value = only.partition("=")
        return TransferRow(condition.physics, name, float(value), fitness, by_seed, success, kept)

    def _fitness(self, condition: Condition) -> Interval | None:
        values = [*condition.fitness.values()]
        return bootstrap_interval(values) if len(values) == len(self.seeds) else None

    def earning(self) -> tuple[str, ...]:
        """Return the widest ranges around the task's own physics in which policies still earn, for `--randomise`."""
        rows = [row for row in self.rows() if row.name]
        ranges = {row.name: [own_value(row.name)] * 2 for row in rows}
        ended: set[tuple[str, bool]] = set()
        for row in sorted(rows, key=lambda row: abs(row.value - own_value(row.name))):
            side = row.value > own_value(row.name)
            if (row.kept or 0.0) < STILL_EARNS:
                ended.add((row.name, side))
            elif (row.name, side) not in ended:
                ranges[row.name][side] = row.value
        return tuple(f"{name}={low:g}:{high:g}" for name, (low, high) in ranges.items() if low < high)


def write_transfer(folder: RunFolder, transfer: Transfer) -> None:
    """Keep measurements in a folder, in place of earlier ones; raises a RunFolderError if that cannot be written."""
    write_atomic(folder.place_within(TRANSFER) / f"{transfer.candidate}.json", transfer.model_dump_json(indent=1))


def read_transfer(folder: RunFolder, candidate: str) -> Transfer | None:
    """Return a candidate's measurements; None if there are none that can be read, as the folder may be anybody's."""
    with suppress(OSError, ValidationError, ValueError, RewardgenError):
        content = read_plain(folder.place_within(TRANSFER) / f"{candidate}.json", _MOST_BYTES)
        transfer = Transfer.model_validate_json(content)
        transfer.rows()
        return transfer if transfer.candidate == candidate else None
    return None
