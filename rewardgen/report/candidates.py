"""Candidates of a run as plain data for a page: a row each, and the details of one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rewardgen.analyzer.training_curves import training_curves
from rewardgen.core.formatting import duration, number, percent, shortened, with_spread
from rewardgen.llm.analysis_text import analysis_text
from rewardgen.report.rendering import rounded
from rewardgen.report.transcripts import Calls, call_data
from rewardgen.store.history import History, Phase
from rewardgen.store.measurements import TrainingCurves
from rewardgen.store.records import CandidateRecord, Finding, SliceResult
from rewardgen.view.lineage import parent_diffs, unified_diff
from rewardgen.view.rows import Live, failure_text, search_rows

_MOST_REASON = 300
"""Characters of an idea, or of why a candidate ended, in its row."""
PHASES: dict[Phase, str] = {
    "search": "Search",
    "final": "Finals, fresh seeds",
}


def candidate_rows(history: History, live: Live) -> list[dict[str, Any]]:
    """A row for every candidate of the search, in planned order."""
    chosen = history.summary.chosen if history.summary else None
    generations = {id: each.index for each in history.generations for id in each.ids}
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
                "fitness": rounded(row.fitness),
                "spread": rounded(row.spread),
                "success": rounded(row.success_rate),
                "told": with_spread(row.fitness, row.spread),
                "percent": percent(row.success_rate),
                "reason": shortened(" ".join(row.reason.split()), _MOST_REASON),
                "chosen": row.id == chosen,
                "leads": row.best,
            }
        )
    return rows


def bars(history: History) -> list[dict[str, Any]]:
    """Results of the task's own rewards in the search."""
    found = []
    for name in history.baselines:
        result = history.result("search", name)
        if result and result.fitness is not None:
            told = with_spread(result.fitness, result.fitness_spread)
            found.append({"id": name, "fitness": rounded(result.fitness), "told": told})
    return found


def candidate_detail(history: History, record: CandidateRecord) -> dict[str, Any]:
    """Details of a candidate, or of one of the task's own rewards, without prompts and replies."""
    candidate, analysis = record.candidate, record.analysis
    detail: dict[str, Any] = {
        "idea": candidate.diagnosis.strip(),
        "prediction": candidate.prediction.strip(),
        "failure": candidate.failure,
        "source": candidate.source.rstrip(),
        "diffs": [{"parent": parent, "diff": diff} for parent, diff in parent_diffs(history, record)],
        "findings": [_finding(each) for each in record.verdict.findings],
        "accepted": record.verdict.accepted,
        "trainings": [each for phase in PHASES if (each := _trainings(history, candidate.id, phase))],
        "text": "",
        "flags": [],
        "claims": [],
        "diagnosis": "",
        "components": _components(training_curves(record.result)) if record.result else {},
    }
    if candidate.repairs:
        first, verdict = history.designed[candidate.id, 0], history.reviewed.get((candidate.id, 0))
        detail["first"] = {
            "findings": [_finding(each) for each in (verdict.findings if verdict else ())],
            "diff": unified_diff(first.source, candidate.source, "first version", "repaired"),
        }
    if analysis:
        detail |= {
            "text": analysis_text(record).rstrip(),
            "flags": [{"detector": each.detector, "message": each.message} for each in analysis.flags],
            "claims": [
                {"claim": each.claim, "outcome": each.outcome, "measured": rounded(each.measured)}
                for each in analysis.predictions
            ],
            "diagnosis": analysis.diagnosis.strip(),
        }
    return detail


def calls_of(calls: Calls, owner: str) -> list[dict[str, Any]]:
    """Prompts and replies about a candidate."""
    return [call_data(each) for each in calls.get(owner, ())]


def _finding(finding: Finding) -> dict[str, Any]:
    evidence = [f"{name} {number(value)}" for name, value in finding.evidence.items()]
    return {
        "gate": finding.gate,
        "detector": finding.detector,
        "severity": finding.severity,
        "line": finding.line,
        "message": finding.message,
        "hint": finding.hint,
        "evidence": ", ".join(evidence),
    }


def _trainings(history: History, id: str, phase: Phase) -> dict[str, Any] | None:
    slices = [each for (of, whose, _), each in history.trained.items() if of == phase and whose == id]
    if not slices:
        return None
    return {"phase": phase, "title": PHASES[phase], "seeds": [_training(each) for each in slices]}


def _training(one: SliceResult) -> dict[str, Any]:
    ended = failure_text(one.failure) if one.failure else one.stopped.message if one.stopped else ""
    return {
        "seed": one.seed,
        "fitness": "" if one.final_fitness is None else number(one.final_fitness),
        "success": percent(one.final_success_rate),
        "steps": f"{one.env_steps:,}",
        "time": duration(one.wall_s),
        "ended": ended,
        "curve": [
            [
                each.env_steps,
                *(rounded(value) for value in (each.fitness, each.episode_return, each.success_rate)),
                {cause: rounded(share) for cause, share in each.endings.items()},
            ]
            for each in one.curve
        ],
        "endings": {cause: rounded(share) for cause, share in _endings(one).items()},
    }


def _endings(one: SliceResult) -> dict[str, float]:
    """Share of the final policy's episodes that ended by each cause; those of the last evaluation if it has none."""
    return _shares(each.ending for each in one.outcomes) or dict(one.terminations)


def _shares(endings: Iterable[str]) -> dict[str, float]:
    told = list(endings)
    return {cause: told.count(cause) / len(told) for cause in dict.fromkeys(told)}


def _components(curves: TrainingCurves) -> dict[str, list[list[float | None]]]:
    """Component to its points: steps, mean per step, share of all sizes."""
    return {
        name: [[each.env_steps, rounded(each.mean), rounded(each.share)] for each in points]
        for name, points in curves.components.items()
    }
