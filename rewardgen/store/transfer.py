"""Policies measured under changed physics: `transfer/CANDIDATE.json` in the run's folder."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, NamedTuple

from pydantic import Field, FiniteFloat, ValidationError

from rewardgen.core.errors import RewardgenError
from rewardgen.core.files import read_plain, write_atomic
from rewardgen.core.physics import own_value, parse_ranges, range_text
from rewardgen.core.schema import Frozen, Text
from rewardgen.core.statistics import Interval, bootstrap_interval, proportion_interval
from rewardgen.store.history import Phase
from rewardgen.store.measurements import Share
from rewardgen.store.names import CandidateId
from rewardgen.store.run_folder import RunFolder

_FOLDER, _MOST_BYTES = "transfer", 4 << 20
STILL_EARNS = 0.5
"""Share of the fitness kept from which a policy counts as still earning."""
Ranges = Annotated[tuple[Annotated[str, Field(max_length=80)], ...], Field(max_length=16)]


class Condition(Frozen):
    """The policies' results under one setting of the physics."""

    physics: Ranges
    """Values and ranges as on the command line; none for the task's own physics."""
    fitness: dict[int, FiniteFloat] = {}
    """Mean over the episodes by training seed; without policies that could not be measured."""
    success: dict[int, Share] = {}
    """Success rate by training seed."""
    problem: Text = ""
    """Reason why a policy could not be measured."""


class TransferRow(NamedTuple):
    """One condition over all seeds.

    Attributes:
        physics: Values and ranges of the condition.
        name: Name of the parameter if it is the only one and has one value, else empty.
        value: Its value.
        fitness: Interquartile mean with its interval; None if a policy could not be measured.
        by_seed: Fitness of each policy.
        success: Success rate with its interval; None without any.
        kept: Fitness as a share of that with the task's own physics, from the better of the two trivial policies on;
            None if the policy does not beat them.
        problem: Reason for a missing fitness.
    """

    physics: tuple[str, ...]
    name: str
    value: float
    fitness: Interval | None
    by_seed: tuple[float, ...]
    success: Interval | None
    kept: float | None
    problem: str


class Transfer(Frozen):
    """Measurements of one candidate's policies under changed physics."""

    candidate: CandidateId
    phase: Phase
    """Phase in which the policies were trained."""
    trained: Ranges = ()
    """Ranges with which they were trained."""
    varied: Ranges
    episodes: int = Field(ge=1)
    """Episodes of each policy under each condition."""
    seed: int
    """Seed of the episodes."""
    seeds: tuple[int, ...] = Field(min_length=1, max_length=1000)
    """Training seeds."""
    trivial: FiniteFloat
    """Fitness of the better trivial policy with the task's own physics."""
    conditions: tuple[Condition, ...] = Field(min_length=1, max_length=100)
    """The task's own physics first, then single values, then all ranges together."""

    def rows(self) -> list[TransferRow]:
        """Return a row per condition."""
        return [self._row(condition) for condition in self.conditions]

    def _row(self, condition: Condition) -> TransferRow:
        ranges = parse_ranges(condition.physics)
        single = [(name, low) for name, (low, high) in ranges.items() if low == high]
        name, value = single[0] if len(ranges) == len(single) == 1 else ("", 0.0)
        fitness, own = self._fitness(condition), self._fitness(self.conditions[0])
        gain = own.value - self.trivial if own else 0.0
        kept = (fitness.value - self.trivial) / gain if fitness and gain > 0.0 else None
        rates = [*condition.success.values()]
        success = proportion_interval(rates, self.episodes) if len(rates) == len(self.seeds) else None
        by_seed = tuple(condition.fitness.values())
        return TransferRow(condition.physics, name, value, fitness, by_seed, success, kept, condition.problem)

    def _fitness(self, condition: Condition) -> Interval | None:
        values = [*condition.fitness.values()]
        return bootstrap_interval(values) if len(values) == len(self.seeds) else None

    def earning(self) -> tuple[str, ...]:
        """Return the ranges around the task's own physics in which the policies still earn, for `--randomise`.

        They keep `STILL_EARNS` of their fitness at all measured values; ranges of a single value are left out.
        """
        rows = [row for row in self.rows() if row.name]
        ranges = []
        for name in dict.fromkeys(row.name for row in rows):
            earns = {row.value: (row.kept or 0.0) >= STILL_EARNS for row in rows if row.name == name}
            own = own_value(name)
            values = sorted(earns)
            within = [
                value
                for value in values
                if all(earns[other] for other in values if min(own, value) <= other <= max(own, value))
            ]
            bounds = min([own, *within]), max([own, *within])
            if bounds[0] < bounds[1]:
                ranges.append(range_text(name, bounds))
        return tuple(ranges)


def write_transfer(folder: RunFolder, transfer: Transfer) -> None:
    """Keep measurements in the run's folder; those of another call for the same candidate are replaced.

    Raises:
        RunFolderError: The file cannot be written, or the folder is a link.
    """
    write_atomic(folder.place_within(_FOLDER) / f"{transfer.candidate}.json", transfer.model_dump_json(indent=1))


def read_transfer(folder: RunFolder, candidate: str) -> Transfer | None:
    """Return a candidate's measurements; None if there are none that can be read, as the folder may be anybody's."""
    with suppress(OSError, ValidationError, RewardgenError):
        path = folder.place_within(_FOLDER) / f"{candidate}.json"
        transfer = Transfer.model_validate_json(read_plain(path, _MOST_BYTES))
        transfer.rows()
        return transfer if transfer.candidate == candidate else None
    return None
