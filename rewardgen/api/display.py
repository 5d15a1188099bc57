"""Show a run and tables of rows in a notebook. All text is escaped."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from rewardgen.core.files import read_plain
from rewardgen.core.formatting import number
from rewardgen.film.film_index import Film
from rewardgen.report.rendering import filled

if TYPE_CHECKING:
    from rewardgen.api.runs import Run

_MOST_VIDEO_BYTES = 4 << 20


def data_frame(rows: Sequence[Mapping[str, Any]], index: str) -> Any:
    """Return rows with the same keys as a pandas DataFrame; where pandas is not installed, as they are."""
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows).set_index(index)


class Table:
    """Base of results that are a table with a row per seed."""

    def rows(self) -> list[dict[str, Any]]:
        """Return a row per seed."""
        raise NotImplementedError

    def table(self) -> Any:
        """Return the rows as a pandas DataFrame, or as a list if pandas is not installed."""
        return data_frame(self.rows(), "seed")

    def _repr_html_(self) -> str:
        return filled("notebook.html", rows=self.rows(), number=number, run=None, film=None)


def run_html(run: Run) -> str:
    """Return the status of a run, its candidates, the chosen reward's code and its film."""
    film, video = next(_films(run), (None, ""))
    return filled("notebook.html", rows=run.rows(), number=number, run=run, film=film, video=video)


def _films(run: Run) -> Iterator[tuple[Film, str]]:
    """Yield the films of the chosen reward that can be read, with their data, those of its final policy first."""
    films = [film for film in run.films if run.best and film.id == run.best.id]
    for film in sorted(films, key=lambda film: film.phase != "final"):
        with suppress(OSError):
            yield film, base64.b64encode(read_plain(film.video, _MOST_VIDEO_BYTES)).decode()
