"""The end of a run: its readable files, films, and the report with them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rewardgen.core.errors import RewardgenError
from rewardgen.film.film import make_films
from rewardgen.report.page import write_report
from rewardgen.report.run_files import write_run_files
from rewardgen.store.history import History
from rewardgen.store.run_folder import RunFolder


def close_run(folder: RunFolder, history: History, note: Callable[[str], None], *, agreed: bool = False) -> Path | None:
    """Write the readable files of a run, film it, and return its report; None if that could not be written.

    A failed film or report, or Ctrl-C, is only noted. Filming runs rewards, so nobody else's run is filmed unasked:
    `agreed` if it went on here just now.

    Raises:
        RunFolderError: The readable files cannot be written.
    """
    write_run_files(folder, history)
    try:
        if history.config.films and (agreed or history.is_own):
            make_films(folder, history, agreed=agreed, note=note)
    except KeyboardInterrupt:
        note("no further films are made")
    except Exception as error:
        note(f"there are no films: {_text(error)}")
    try:
        return write_report(folder, history)
    except Exception as error:
        note(f"there is no report: {_text(error)}")
    return None


def _text(error: Exception) -> str:
    return f"{error.message}; {error.hint}" if isinstance(error, RewardgenError) else f"{type(error).__name__}: {error}"
