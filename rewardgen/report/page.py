"""The report of a run: one HTML file that answers first, and holds all evidence behind the answer."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rewardgen.core.config import BUILTIN
from rewardgen.core.files import read_plain, write_atomic
from rewardgen.core.formatting import count, number
from rewardgen.film.film import Film, films_of
from rewardgen.report.answer import answer_of
from rewardgen.report.candidates import bars, calls_of, candidate_detail, candidate_rows
from rewardgen.report.ledger import ledger_of, origins
from rewardgen.report.rendering import packed, render_page, rounded
from rewardgen.report.reward_report import reward_report
from rewardgen.report.transcripts import Calls, read_calls
from rewardgen.store.history import History, status_of
from rewardgen.store.run_folder import RunFolder
from rewardgen.view.lineage import lineage
from rewardgen.view.rows import Live

REPORT = "report.html"
MOST_BYTES = 4_800_000
"""Largest page; prompts that exceed it stay in the run's folder, and the page says so."""
_MOST_FILM_BYTES = 2_200_000
"""Room for all films in a page."""


def write_report(folder: RunFolder, history: History) -> Path:
    """Write the report of a run into its folder; the file.

    Raises:
        RunFolderError: The file cannot be written.
    """
    path = folder.path / REPORT
    write_atomic(path, report_html(folder, history, films=films_of(folder)))
    return path


def report_html(
    folder: RunFolder, history: History, *, films: Sequence[Film] = (), live: Live | None = None, served: str = ""
) -> str:
    """A run as one HTML page that needs no other file and no network.

    Args:
        folder: Folder of the run.
        history: Its history; the run may still be under way.
        films: Films of the run; that of the chosen reward's final policy comes first.
        live: Progress of trainings under way.
        served: See `render_page`.
    """
    status, calls = status_of(folder, history), read_calls(folder)
    shown, config, card = _films(films, history), history.config, history.card
    rows = candidate_rows(history, live or {})
    chosen = history.summary.chosen if history.summary else None
    featured = chosen or (history.ranking.best.candidate_id if history.ranking.best else None)
    record = history.record(featured) if featured else None
    values: dict[str, Any] = {
        "served": served,
        "folder": folder,
        "history": history,
        "status": status,
        "answer": answer_of(history, status),
        "films": shown,
        "rows": rows,
        "bars": bars(history),
        "chosen": chosen,
        "featured": record,
        "origin": lineage(history, featured)[1:] if featured else [],
        "card": card,
        "task": card.name if card else "",
        "model": "built-in designer" if config is None or config.model == BUILTIN else config.model,
        "spent": ledger_of(history, calls),
        "report": reward_report(history),
        "origins": origins(folder, history, status),
        "formats": {"number": number, "count": count},
    }
    data: dict[str, Any] = {
        "run": folder.id,
        "rows": rows,
        "bars": values["bars"],
        "finals": _finals(history),
        "featured": featured,
        "films": [each["video"] for each in shown],
        "blocks": {},
    }
    room = MOST_BYTES - len(render_page("report", data, ("report.js",), **values).encode())
    for name, block in _blocks(history, calls, [each["id"] for each in rows], featured):
        text = packed(block)
        if len(text) + len(name) + 8 <= room:
            data["blocks"][name] = text
            room -= len(text) + len(name) + 8
    return render_page("report", data, ("report.js",), **values)


def _blocks(history: History, calls: Calls, ids: Sequence[str], first: str | None) -> Iterator[tuple[str, Any]]:
    """Blocks that a page unpacks on demand, by name, the most important first."""
    near = [each.id for each in lineage(history, first)] if first else []
    order = [*near, *(id for id in ids if id not in near)]
    records = {id: history.record(id) for id in order} | {id: history.baseline_record(id) for id in history.baselines}
    for id, record in records.items():
        if record:
            yield f"detail/{id}", candidate_detail(history, record)
    for owner in (*(each for each in calls if each not in records), *order):
        if about := calls_of(calls, owner):
            yield f"calls/{owner}", about


def _finals(history: History) -> list[dict[str, Any]]:
    """Rewards on the fresh seeds: estimate, interval, and each seed."""
    if history.summary is None:
        return []
    found = []
    for row in history.summary.rows:
        result = history.result("final", row.candidate_id)
        if row.fitness:
            seeds = [rounded(value) for value in result.by_seed.values()] if result else []
            bounds = [rounded(each) for each in (row.fitness.value, row.fitness.low, row.fitness.high)]
            chosen = row.candidate_id == history.summary.chosen
            found.append({"id": row.candidate_id, "bounds": bounds, "seeds": seeds, "chosen": chosen})
    return found


def _films(films: Sequence[Film], history: History) -> list[dict[str, Any]]:
    """Films with room in the page, that of the final policy first, with the still of the first."""
    chosen = history.summary.chosen if history.summary else None
    finals = [each for each in films if each.phase == "final"]
    ordered = sorted(finals, key=lambda each: (each.id != chosen, bool(each.beside)))
    ordered += [each for each in films if each.phase != "final"]
    found: list[dict[str, Any]] = []
    room = _MOST_FILM_BYTES
    for each in ordered:
        try:
            still = "" if found else f"data:image/png;base64,{_data(each.still, room)}"
            video = _data(each.video, room)
        except OSError:
            continue
        if len(video) + len(still) <= room:
            room -= len(video) + len(still)
            found.append({"shot": each, "video": video, "still": still})
    return found


def _data(path: Path, most: int) -> str:
    return base64.b64encode(read_plain(path, max(1, most))).decode()
