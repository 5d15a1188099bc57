"""Measurements under changed physics, as a table and as points of a picture."""

from __future__ import annotations

from typing import Any, NamedTuple

from rewardgen.core.formatting import number, percent, percent_interval, with_interval
from rewardgen.core.physics import own_value, words
from rewardgen.store.history import History
from rewardgen.store.run_folder import RunFolder
from rewardgen.store.transfer import Transfer, TransferRow, read_transfer


class TransferFacts(NamedTuple):
    """Measured candidates of a run."""

    transfers: tuple[tuple[Transfer, tuple[tuple[str, str, str, str], ...]], ...]
    """Each measurement with the cells of its table: physics, fitness, success, share of the fitness kept."""
    points: list[dict[str, Any]]
    """Fitness by candidate, parameter and value, and of each of its policies; the task's own physics included."""


def transfer_facts(folder: RunFolder, history: History) -> TransferFacts | None:
    """Return the measurements in a run's folder, those of the chosen reward first; None without any."""
    chosen = history.summary.chosen if history.summary else None
    ids = dict.fromkeys(filter(None, (chosen, *history.ids(), *history.baselines)))
    transfers = [transfer for id in ids if (transfer := read_transfer(folder, id))]
    if not transfers:
        return None
    return TransferFacts(
        tuple((transfer, tuple(transfer_cells(transfer))) for transfer in transfers),
        [
            {"id": transfer.candidate, "chosen": transfer.candidate == chosen, **point}
            for transfer in transfers
            for point in _points(transfer.rows())
        ],
    )


def transfer_cells(transfer: Transfer) -> list[tuple[str, str, str, str]]:
    """Return the cells of a table: physics, fitness, success, share of the fitness kept."""
    several = len(transfer.seeds) > 1  # the interval is over seeds
    return [
        (
            words(row.physics),
            (with_interval(row.fitness) if several else number(row.fitness.value)) if row.fitness else row.problem,
            percent_interval(row.success),
            percent(row.kept),
        )
        for row in transfer.rows()
    ]


def _points(rows: list[TransferRow]) -> list[dict[str, Any]]:
    own, singles = rows[0], [row for row in rows if row.name]
    names = [*dict.fromkeys(row.name for row in singles)]
    with_own = [*singles, *(own._replace(name=name, value=own_value(name)) for name in names)]
    return [
        {"name": row.name, "value": row.value, "fitness": row.fitness.value, "seeds": [*row.by_seed]}
        for row in sorted(with_own, key=lambda row: (names.index(row.name), row.value))
        if row.fitness
    ]
