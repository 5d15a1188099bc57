"""A run in a line of a list."""

from __future__ import annotations

from typing import NamedTuple

from rewardgen.core.config import RunConfig, options_text
from rewardgen.core.errors import RunFolderError, RunFormatError
from rewardgen.store.history import History, status_of
from rewardgen.store.run_folder import RunFolder


class ListedRun(NamedTuple):
    """A run as a list shows it."""

    id: str
    task: str = ""
    model: str = ""
    search: str = ""
    """Strategy and seed, and what was left out."""
    options: str = ""
    """All that is not the default: see `options_text`."""
    status: str = "damaged"
    candidates: int = 0
    best: str | None = None
    fitness: float | None = None
    success_rate: float | None = None
    cost_usd: float | None = 0.0
    elapsed_s: float = 0.0


def listed_run(folder: RunFolder, history: History | None = None) -> ListedRun:
    """A run as a list shows it, also one that cannot be read.

    Args:
        folder: Its folder.
        history: What is known of it; read if it is not given.
    """
    try:
        history = history or History.load(folder)
    except RunFormatError:
        return ListedRun(folder.id, status="other version")
    except RunFolderError:
        return ListedRun(folder.id)
    config = history.config
    best, fitness, success_rate = _best(history)
    return ListedRun(
        id=folder.id,
        task=history.card.name if history.card else "",
        model=config.model if config else "",
        search=_search(config) if config else "",
        options=options_text(config) if config else "",
        status=status_of(folder, history),
        candidates=len(history.ids()),
        best=best,
        fitness=fitness,
        success_rate=success_rate,
        cost_usd=history.usage.cost_usd,
        elapsed_s=history.elapsed_s,
    )


def _search(config: RunConfig) -> str:
    left_out = f"without {' and '.join(config.ablate)}" if config.ablate else ""
    return ", ".join(each for each in (config.strategy, f"seed {config.seed}" if config.seed else "", left_out) if each)


def _best(history: History) -> tuple[str | None, float | None, float | None]:
    """Id, fitness and success rate: of the chosen reward on the fresh seeds, or before that of the search's best."""
    summary, best = history.summary, history.best()
    if summary is not None:
        row = next((each for each in summary.rows if each.candidate_id == summary.chosen), None)
        return (row.candidate_id, row.fitness.value, row.success_rate) if row and row.fitness else (None, None, None)
    if best is None or best.result is None:
        return None, None, None
    return best.candidate.id, best.fitness, best.result.success_rate
