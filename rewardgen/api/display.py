"""Show a run and tables of rows in a notebook. All text is escaped."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from rewardgen.core.files import read_plain
from rewardgen.core.formatting import number

if TYPE_CHECKING:
    from rewardgen.api.runs import Run

_MOST_VIDEO_BYTES = 4 << 20
_ABOUT = 80
"""Characters of a text in a cell."""


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
        return table_html(self.rows())


def table_html(rows: Sequence[Mapping[str, Any]], *, strong: int | None = None) -> str:
    """Return rows as an HTML table, with their keys as headings; the row at index `strong` stands out."""
    if not rows:
        return ""
    head = "".join(f"<th style='text-align:left'>{escape(name.replace('_', ' '))}</th>" for name in rows[0])
    lines = [
        "<tr>" + "".join(f"<td style='text-align:left'>{_cell(value, place == strong)}</td>" for value in row.values())
        for place, row in enumerate(rows)
    ]
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _cell(value: Any, strong: bool) -> str:
    text = "" if value is None else number(value) if isinstance(value, float) else str(value)
    text = escape(text if len(text) <= _ABOUT else f"{text[: _ABOUT - 1]}…")
    return f"<b>{text}</b>" if strong else text


def run_html(run: Run) -> str:
    """Return the status of a run, its candidates, the chosen reward's code and its film."""
    rows, best = run.rows(), run.best
    parts = [f"<p><b>{escape(run.history.card.name if run.history.card else run.id)}</b> · {escape(run.id)} ·"]
    parts += [f" {escape(run.status)}</p>"]
    parts += [f"<p>{escape(run.summary.conclusion)}</p>"] if run.summary else []
    strong = next((place for place, row in enumerate(rows) if best and row["id"] == best.id), None)
    parts.append(table_html(rows, strong=strong))
    if best:
        parts.append(f"<details><summary>{escape(best.id)}</summary><pre>{escape(best.source)}</pre></details>")
        parts.append(_film(run, best.id))
    return "".join(parts)


def _film(run: Run, id: str) -> str:
    """Return the film of a candidate, embedded in the page; empty if there is none."""
    films = [film for film in run.films if film.id == id]
    for film in sorted(films, key=lambda film: film.phase == "final", reverse=True):
        try:
            data = base64.b64encode(read_plain(film.video, _MOST_VIDEO_BYTES)).decode()
        except OSError:
            continue
        title = f"<figcaption>{escape(film.title)}</figcaption>"
        video = f'<video controls loop muted width="480" src="data:video/mp4;base64,{data}"></video>'
        return f"<figure>{video}{title}</figure>"
    return ""
