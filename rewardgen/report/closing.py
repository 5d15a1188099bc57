"""What a run leaves to be looked at once it has ended: its films, then the report that holds them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rewardgen.core.errors import RewardgenError
from rewardgen.film.film import make_films
from rewardgen.report.page import write_report
from rewardgen.report.run_files import write_run_files
from rewardgen.store.history import History
from rewardgen.store.run_folder import RunFolder


def close_run(folder: RunFolder, history: History, note: Callable[[str], None]) -> Path | None:
    """Film a run and write its report; where that is. A fault, or Ctrl-C, is told and costs only what it keeps from.

    Args:
        folder: The run's.
        history: What is known of it.
        note: Is told how it goes, in a line.

    Returns:
        None if the report could not be written.
    """
    write_run_files(folder, history)  # a run may have been killed before all were written
    try:
        if history.config and history.config.films:
            make_films(folder, history, note=note)
    except KeyboardInterrupt:
        note("no further films are made")
    except Exception as error:
        note(_told("there are no films", error))
    try:
        return write_report(folder, history)
    except Exception as error:
        note(_told("there is no report", error))
    return None


def _told(what: str, error: Exception) -> str:
    why = f"{error.message}; {error.hint}" if isinstance(error, RewardgenError) else f"{type(error).__name__}: {error}"
    return f"{what}: {why}"
