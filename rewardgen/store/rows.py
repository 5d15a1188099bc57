"""What there is to say of each candidate, in a row: the view that the live screen, plain lines and tables share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from rewardgen.core.readable import first_sentence
from rewardgen.store.history import History, Phase
from rewardgen.store.records import CandidateRecord, CandidateResult, SliceFailure, SliceResult, Verdict

Status = Literal["designing", "checking", "repairing", "rejected", "waiting", "training", "trained", "failed"]

Live = Mapping[tuple[Phase, str, int], Mapping[str, Any]]
"""(phase, candidate id, seed) to the latest progress message of its training."""


class Row(NamedTuple):
    """One candidate in one phase of a run."""

    id: str
    operator: str
    status: Status
    reason: str = ""
    """Why it was rejected, failed or stopped; else the idea behind it."""
    progress: float = 0.0
    """Share of the training done, 0 to 1."""
    fitness: float | None = None
    """Mean over seeds: of the last evaluations while it trains, then of the clean measurement."""
    spread: float = 0.0
    """Standard error of the fitness over seeds."""
    success_rate: float | None = None
    best: bool = False
    stopped: bool = False
    """Whether a training of it was stopped early: its reward rose while its fitness fell."""

    @property
    def has_ended_badly(self) -> bool:
        """Whether it will never have a fitness."""
        return self.status in ("rejected", "failed")


def search_rows(history: History, ids: Sequence[str], live: Live) -> list[Row]:
    """Rows of candidates of the search, or of the task's own rewards in it.

    Args:
        history: What is known of the run.
        ids: Which of them, in this order.
        live: How far trainings are.
    """
    best = history.best()
    best_id = best.candidate.id if best else None
    return [_search_row(history, id, live)._replace(best=id == best_id) for id in ids]


def final_rows(history: History, live: Live) -> list[Row]:
    """Rows of the winner and the task's own rewards, trained on fresh seeds."""
    chosen = history.summary.chosen if history.summary else None
    rows = []
    for id in history.finalists:
        record = history.record(id)
        row = Row(id, record.candidate.operator if record else "baseline", "waiting", best=id == chosen)
        rows.append(_training_row(row, "final", history, live))
    return rows


def once_started(rows: list[Row]) -> list[Row]:
    """The rows of a batch, where waiting means training as soon as every candidate has passed review or failed it.

    A batch trains all its candidates at once, but tells of each only at its first evaluation.
    """
    if any(row.status in ("designing", "checking", "repairing") for row in rows):
        return rows
    return [row._replace(status="training") if row.status == "waiting" else row for row in rows]


def _search_row(history: History, id: str, live: Live) -> Row:
    if id in history.baselines:
        return _training_row(Row(id, "baseline", "waiting"), "search", history, live)
    record = history.record(id)
    if record is None:
        return Row(id, "", "designing")
    operator, idea = record.candidate.operator, first_sentence(record.candidate.diagnosis)
    if record.candidate.failure:
        return Row(id, operator, "rejected", record.candidate.failure)
    if (id, record.candidate.repairs) not in history.reviewed:
        if any(each.finished for each in history.generations if id in each.ids):
            return Row(id, operator, "failed", "not reviewed: the time of the search was up")
        return Row(id, operator, "checking", idea)
    if not record.verdict.accepted:
        status = "repairing" if _may_be_repaired(history, record, live) else "rejected"
        return Row(id, operator, status, rejection(record.verdict))
    return _training_row(Row(id, operator, "waiting", idea), "search", history, live)


def _may_be_repaired(history: History, record: CandidateRecord, live: Live) -> bool:
    """Whether a rejected candidate is still at the designer's: nothing of its generation has gone on to training."""
    ids = next(each.ids for each in history.generations if record.candidate.id in each.ids)
    if record.candidate.operator == "constants":  # no designer made it
        return False
    if record.candidate.repairs or history.status != "running" or history.generations[-1].ids != ids:
        return False
    gone_on = {id for phase, id, _ in (*live, *history.trained) if phase == "search"}
    return record.verdict.repairable and not (gone_on.intersection(ids) or history.generations[-1].finished)


def rejection(verdict: Verdict) -> str:
    """Why the critic rejected a candidate: the first reason, and how many more there are."""
    first, *more = verdict.rejections
    line = f" (line {first.line})" if first.line else ""
    return f"{first.gate}: {first.message}{line}" + (f", and {len(more)} more" if more else "")


def failure_text(failure: SliceFailure) -> str:
    """Why a training failed, in one line."""
    at = f" at step {failure.env_steps}" if failure.env_steps else ""
    return f"{failure.message} ({failure.kind}{at})"


def _training_row(row: Row, phase: Phase, history: History, live: Live) -> Row:
    seeds = history.seeds(phase, row.id)
    steps = history.training.env_steps if history.training else 0
    runs: list[SliceResult] = []
    progress, fitness, success = 0.0, [], []
    for seed in seeds:
        message = live.get((phase, row.id, seed))
        if run := history.trained.get((phase, row.id, seed)):
            runs.append(run)
            progress += 1.0
            fitness.append(run.final_fitness)
            success.append(run.final_success_rate)
        elif message and steps:
            progress += 1.0 if message.get("stopped") else min(1.0, message["env_steps"] / steps)
            fitness.append(message.get("fitness"))
            success.append(message.get("success_rate"))
    result = CandidateResult(candidate_id=row.id, slices=tuple(runs))
    if failure := result.failure:
        return row._replace(status="failed", reason=failure_text(failure))
    if not progress:
        return row
    done = len(runs) == len(seeds)
    return row._replace(
        status="trained" if done else "training",
        reason=result.stops[0].message if result.stops else row.reason,
        progress=progress / max(1, len(seeds)),
        fitness=_mean(fitness),
        spread=result.fitness_spread if done else 0.0,
        success_rate=_mean(success),
        stopped=bool(result.stops),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
