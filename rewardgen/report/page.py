"""The report of a run: one HTML file that answers first, and holds all evidence behind the answer."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rewardgen.analyzer.training_curves import training_curves
from rewardgen.core.config import BUILTIN
from rewardgen.core.files import read_plain, write_atomic
from rewardgen.core.formatting import count, duration, number, percent, shortened, with_spread
from rewardgen.film.film_index import Film, films_of
from rewardgen.llm.analysis_text import analysis_text, stage_means
from rewardgen.report.answer import answer_of
from rewardgen.report.ledger import origins, saved, spent
from rewardgen.report.rendering import packed, render_page, rounded
from rewardgen.report.reward_report import reward_report
from rewardgen.report.transcripts import Calls, call_data, read_calls
from rewardgen.store.history import History, Phase, status_of
from rewardgen.store.measurements import TrainingCurves
from rewardgen.store.records import CandidateRecord, Finding, SliceResult
from rewardgen.store.run_folder import RunFolder
from rewardgen.training.setup import policies_see
from rewardgen.view.comparisons import comparison_facts, told_record
from rewardgen.view.facts import lineage, parent_diffs, unified_diff
from rewardgen.view.rows import Live, failure_text, search_rows
from rewardgen.view.transfers import transfer_cells, transfer_points, transfers_of

REPORT = "report.html"
MOST_BYTES = 4_800_000
"""Largest page; prompts that exceed it stay in the run's folder, and the page says so."""
_MOST_FILM_BYTES = 2_200_000
"""Room for all films in a page."""
_MOST_REASON = 300
"""Characters of a candidate's idea, or of the reason of its end, in its row."""
_PHASES: dict[Phase, str] = {
    "search": "Search",
    "final": "Finals, fresh seeds",
}


def write_report(folder: RunFolder, history: History) -> Path:
    """Write the report of a run into its folder, and return the file.

    Raises:
        RunFolderError: The file cannot be written.
    """
    path = folder.path / REPORT
    write_atomic(path, report_html(folder, history, films=films_of(folder)))
    return path


def report_html(
    folder: RunFolder, history: History, *, films: Sequence[Film] = (), live: Live | None = None, served: str = ""
) -> str:
    """A run, which may be under way, as one HTML page that needs no other file and no network; see `render_page`."""
    status, calls = status_of(folder, history), read_calls(folder)
    transfers = transfers_of(folder, history)
    reels, config, card = _films(films, history), history.config, history.card
    rows = _candidate_rows(history, live or {})
    chosen = history.summary.chosen if history.summary else None
    featured = chosen or (history.ranking.best.candidate_id if history.ranking.best else None)
    record = history.record(featured) if featured else None
    values: dict[str, Any] = {
        "served": served,
        "folder": folder,
        "history": history,
        "answer": answer_of(history, status),
        "filmable": any(
            result.policy and (folder.policies_of(phase) / result.policy).is_file()
            for (phase, _, _), result in history.trained.items()
        ),
        "films": reels,
        "rows": rows,
        "bars": _bars(history),
        "chosen": chosen,
        "featured": record,
        "origin": lineage(history, featured)[1:] if featured else [],
        "task": card.name,
        "model": "built-in designer" if config.model == BUILTIN else config.model,
        "compared": comparison_facts(history),
        "transfers": [(transfer, transfer_cells(transfer)) for transfer in transfers],
        "spent": spent(history, calls),
        "saved": saved(history),
        "report": reward_report(history),
        "origins": origins(folder, history, status),
        "formats": {"count": count},
    }
    data: dict[str, Any] = {
        "run": folder.id,
        "rows": rows,
        "bars": values["bars"],
        "measure": rows[0]["measure"] if rows else "fitness",
        "has_fitness": history.has_fitness,
        "finals": _finals(history),
        "featured": featured,
        "transfers": [point for transfer in transfers for point in transfer_points(transfer)],
        "films": [reel["video"] for reel in reels],
        "blocks": {},
    }
    scripts = ("report.js", "served.js") if served else ("report.js",)
    room = MOST_BYTES - len(render_page("report", data, scripts, **values).encode())
    for name, block in _blocks(history, calls, [row["id"] for row in rows], featured):
        text = packed(block)
        if len(text) + len(name) + 8 <= room:
            data["blocks"][name] = text
            room -= len(text) + len(name) + 8
    return render_page("report", data, scripts, **values)


def _blocks(history: History, calls: Calls, ids: Sequence[str], first: str | None) -> Iterator[tuple[str, Any]]:
    """Blocks that a page unpacks on demand, by name, the most important first."""
    near = [ancestor.id for ancestor in lineage(history, first)] if first else []
    order = [*near, *(id for id in ids if id not in near)]
    records = {id: history.record(id) for id in order} | {id: history.baseline_record(id) for id in history.baselines}
    for id, record in records.items():
        if record:
            yield f"detail/{id}", _candidate_detail(history, record)
    for owner in (*(owner for owner in calls if owner not in records), *order):
        if owner in calls:
            yield f"calls/{owner}", [call_data(call) for call in calls[owner]]


def _finals(history: History) -> list[dict[str, Any]]:
    """Rewards on the fresh seeds: estimate, interval, and each seed."""
    if history.summary is None:
        return []
    finals = []
    for row in history.summary.rows:
        result = history.result("final", row.candidate_id)
        if row.fitness:
            seeds = [rounded(value) for value in result.by_seed.values()] if result else []
            bounds = [rounded(value) for value in (row.fitness.value, row.fitness.low, row.fitness.high)]
            chosen = row.candidate_id == history.summary.chosen
            finals.append({"id": row.candidate_id, "bounds": bounds, "seeds": seeds, "chosen": chosen})
    return finals


def _films(films: Sequence[Film], history: History) -> list[dict[str, Any]]:
    """Films with room in the page, that of the final policy first, with the still of the first."""
    chosen = history.summary.chosen if history.summary else None
    finals = [film for film in films if film.phase == "final" and film.seed in history.seeds("final", film.id)]
    finals.sort(key=lambda film: (film.id != chosen, bool(film.beside)))
    reels: list[dict[str, Any]] = []
    room = _MOST_FILM_BYTES
    for film in (*finals, *(film for film in films if film.phase != "final")):
        try:
            still = "" if reels else f"data:image/png;base64,{_data(film.still, room)}"
            video = _data(film.video, room)
        except OSError:
            continue
        if len(video) + len(still) <= room:
            room -= len(video) + len(still)
            reels.append({"shot": film, "video": video, "still": still})
    return reels


def _data(path: Path, most: int) -> str:
    return base64.b64encode(read_plain(path, max(1, most))).decode()


def _candidate_rows(history: History, live: Live) -> list[dict[str, Any]]:
    """A row for every candidate of the search, in planned order."""
    chosen = history.summary.chosen if history.summary else None
    generations = {id: generation.index for generation in history.generations for id in generation.ids}
    rows = []
    for row in search_rows(history, history.ids(), live):
        record = history.record(row.id)
        candidate = record.candidate if record else None
        rows.append(
            {
                "id": row.id,
                "generation": generations[row.id],
                "operator": row.operator,
                "parents": list(candidate.parents) if candidate else [],
                "status": row.status,
                "stopped": row.stopped,
                "repaired": bool(candidate and candidate.repairs),
                "measure": row.measure,
                "merit": rounded(row.merit),
                "spread": rounded(row.spread),
                "text": row.merit_text,
                "percent": percent(row.success_rate),
                "reason": shortened(" ".join(row.reason.split()), _MOST_REASON),
                "chosen": row.id == chosen,
            }
        )
    return rows


def _bars(history: History) -> list[dict[str, Any]]:
    results = {name: history.result("search", name) for name in history.baselines}
    return [
        {
            "id": name,
            "merit": rounded(result.fitness),
            "text": with_spread(result.fitness, result.fitness_spread),
            "percent": percent(result.success_rate),
        }
        for name, result in results.items()
        if result and result.fitness is not None
    ]


def _candidate_detail(history: History, record: CandidateRecord) -> dict[str, Any]:
    """Details of a candidate, or of one of the task's own rewards, without prompts and replies."""
    record = told_record(history, record)
    candidate, analysis = record.candidate, record.analysis
    detail: dict[str, Any] = {
        "idea": candidate.diagnosis.strip(),
        "prediction": candidate.prediction.strip(),
        "failure": candidate.failure,
        "source": candidate.source.rstrip(),
        "diffs": [{"parent": parent, "diff": diff} for parent, diff in parent_diffs(history, record)],
        "findings": [_finding(finding) for finding in record.verdict.findings],
        "accepted": record.verdict.accepted,
        "trainings": [group for phase in _PHASES if (group := _trainings(history, candidate.id, phase))],
        "text": "",
        "flags": [],
        "claims": [],
        "diagnosis": "",
        "components": _components(training_curves(record.result)) if record.result else {},
        "stages": _stages(record),
        "seen": policies_see(history.training, candidate.source),
    }
    if candidate.repairs:
        first, verdict = history.designed[candidate.id, 0], history.reviewed.get((candidate.id, 0))
        detail["first"] = {
            "findings": [_finding(finding) for finding in (verdict.findings if verdict else ())],
            "diff": unified_diff(first.source, candidate.source, "first version", "repaired"),
        }
    if analysis:
        detail |= {
            "text": analysis_text(record).rstrip(),
            "flags": [{"detector": flag.detector, "message": flag.message} for flag in analysis.flags],
            "claims": [
                {"claim": claim.claim, "outcome": claim.outcome, "measured": rounded(claim.measured)}
                for claim in analysis.predictions
            ],
            "diagnosis": analysis.diagnosis.strip(),
        }
    return detail


def _finding(finding: Finding) -> dict[str, Any]:
    evidence = [f"{name} {number(value)}" for name, value in finding.evidence.items()]
    return finding.model_dump() | {"evidence": ", ".join(evidence)}


def _trainings(history: History, id: str, phase: Phase) -> dict[str, Any] | None:
    seeds = [_training(run) for (of, owner, _), run in history.trained.items() if (of, owner) == (phase, id)]
    return {"title": _PHASES[phase], "seeds": seeds} if seeds else None


def _training(run: SliceResult) -> dict[str, Any]:
    ended = failure_text(run.failure) if run.failure else run.stopped.message if run.stopped else ""
    return {
        "seed": run.seed,
        "fitness": "" if run.final_fitness is None else number(run.final_fitness),
        "success": percent(run.final_success_rate),
        "steps": f"{run.env_steps:,}",
        "time": duration(run.wall_s),
        "ended": ended,
        "curve": [
            [
                point.env_steps,
                *(rounded(value) for value in (point.fitness, point.episode_return, point.success_rate)),
                {cause: rounded(share) for cause, share in point.endings.items()},
            ]
            for point in run.curve
        ],
        "endings": {cause: rounded(share) for cause, share in _endings(run).items()},
    }


def _endings(run: SliceResult) -> dict[str, float]:
    """Share of episodes that ended by each cause: of the final policy, else of the last evaluation."""
    endings = [outcome.ending for outcome in run.outcomes]
    return {cause: endings.count(cause) / len(endings) for cause in endings} or dict(run.terminations)


def _stages(record: CandidateRecord) -> list[dict[str, Any]]:
    means = stage_means(record.candidate.source, record.result) if record.result else {}
    return [
        {
            "name": name,
            "time": rounded(mean.time),
            "text": f"in {percent(mean.entered)} of the episodes, {percent(mean.time)} of the time;"
            f" {percent(mean.last)} end in it",
        }
        for name, mean in means.items()
    ]


def _components(curves: TrainingCurves) -> dict[str, list[list[float | None]]]:
    """Component to its points: steps, mean per step, share of all sizes."""
    return {
        name: [[point.env_steps, rounded(point.mean), rounded(point.share)] for point in points]
        for name, points in curves.components.items()
    }
