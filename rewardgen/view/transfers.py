"""Measurements under changed physics, for a table and for a picture."""

from __future__ import annotations

from typing import Any

from rewardgen.core.formatting import number, percent, percent_interval, with_interval
from rewardgen.core.physics import own_value, words
from rewardgen.store.history import History
from rewardgen.store.run_folder import RunFolder
from rewardgen.store.transfer import Transfer, read_transfer


def transfers_of(folder: RunFolder, history: History) -> list[Transfer]:
    """Return the measurements in a run's folder, those of the chosen reward first."""
    chosen = history.summary.chosen if history.summary else None
    ids = dict.fromkeys(filter(None, (chosen, *history.ids(), *history.baselines)))
    return [transfer for id in ids if (transfer := read_transfer(folder, id))]


def transfer_cells(transfer: Transfer) -> list[tuple[str, str, str, str]]:
    """Return the cells of a table: physics, fitness, success, share of the fitness kept."""
    cells = []
    for row in transfer.rows():
        fitness = "not measured"
        if row.fitness:  # its interval is over seeds
            fitness = with_interval(row.fitness) if len(transfer.seeds) > 1 else number(row.fitness.value)
        cells.append((words(row.physics), fitness, percent_interval(row.success), percent(row.kept)))
    return cells


def transfer_points(transfer: Transfer) -> list[dict[str, Any]]:
    """Return fitness by parameter and value, with each policy's, the task's own physics included."""
    own, *rows = transfer.rows()
    names = [*dict.fromkeys(row.name for row in rows if row.name)]
    rows = [row for row in rows if row.name] + [own._replace(name=name, value=own_value(name)) for name in names]
    of = {"id": transfer.candidate}
    return [
        of | {"name": row.name, "value": row.value, "fitness": row.fitness.value, "seeds": row.by_seed}
        for row in sorted(rows, key=lambda row: (names.index(row.name), row.value))
        if row.fitness
    ]
