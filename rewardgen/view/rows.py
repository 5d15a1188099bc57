"""What there is to say of each candidate, in a row: the view that the live screen, plain lines and tables share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from rewardgen.core.formatting import first_sentence
from rewardgen.store.history import History, Phase
from rewardgen.store.progress import Live
from rewardgen.store.records import CandidateRecord, CandidateResult, SliceFailure, SliceResult, Verdict

Status = Literal["designing", "checking", "repairing", "rejected", "waiting", "training", "trained", "failed"]


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
    course: tuple[tuple[float, float], ...] = ()
    """Share of the training, 0 to 1, and the fitness there, mean over the seeds that have come so far."""

    @property
    def has_numbers(self) -> bool:
        """Whether there is a training to tell of."""
        return self.status in ("training", "trained")

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
    return _later_rows("final", history.finalists, history, live)


def confirmation_rows(history: History, live: Live) -> list[Row]:
    """Rows of what trains with more steps, to see whether it lasts; none before that."""
    return _later_rows("confirm", [id for phase, id in history.further if phase == "confirm"], history, live)


def _later_rows(phase: Phase, ids: Sequence[str], history: History, live: Live) -> list[Row]:
    chosen = history.summary.chosen if history.summary else None
    rows = []
    for id in ids:
        record = history.record(id)
        operator, idea = (record.candidate.operator, _idea(record)) if record else ("baseline", "")
        rows.append(_training_row(Row(id, operator, "waiting", idea, best=id == chosen), phase, history, live))
    return rows


def once_started(rows: list[Row]) -> list[Row]:
    """The rows of a batch, where waiting means training as soon as every candidate has passed review or failed it.

    A batch trains all its candidates at once, but tells of each only at its first evaluation.
    """
    if any(row.status in ("designing", "checking", "repairing") for row in rows):
        return rows
    return [row._replace(status="training") if row.status == "waiting" else row for row in rows]


def _idea(record: CandidateRecord) -> str:
    return first_sentence(record.candidate.diagnosis)


def _search_row(history: History, id: str, live: Live) -> Row:
    if id in history.baselines:
        return _training_row(Row(id, "baseline", "waiting"), "search", history, live)
    record = history.record(id)
    if record is None:
        return Row(id, "", "designing")
    operator, idea = record.candidate.operator, _idea(record)
    if record.candidate.failure:
        return Row(id, operator, "rejected", record.candidate.failure)
    if (id, record.candidate.repairs) not in history.reviewed:
        if any(each.finished for each in history.generations if id in each.ids):
            return Row(id, operator, "failed", "not reviewed: the time of the search was up")
        gate = live.get(("review", id, 0), {}).get("gate")
        return Row(id, operator, "checking", f"gate {gate}" if gate else idea)
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
    steps = planned_steps(history, phase)
    courses: list[list[tuple[float, float]]] = []
    runs: list[SliceResult] = []
    progress, fitness, success = 0.0, [], []
    for seed in seeds:
        message = live.get((phase, row.id, seed))
        if run := history.trained.get((phase, row.id, seed)):
            runs.append(run)
            progress += 1.0
            fitness.append(run.final_fitness)
            success.append(run.final_success_rate)
            courses.append([(point.env_steps, point.fitness) for point in run.curve])
        elif message and steps:
            progress += 1.0 if message.get("stopped") else min(1.0, message["env_steps"] / steps)
            fitness.append(message.get("fitness"))
            success.append(message.get("success_rate"))
            courses.append([*message.get("course", ())])
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
        course=_mean_course(courses, steps),
    )


def planned_steps(history: History, phase: Phase) -> float:
    """Control steps of a training."""
    if history.training is None or history.config is None:
        return 0.0
    return history.training.env_steps * ((history.config.confirm or 1.0) if phase == "confirm" else 1.0)


def _mean_course(courses: Sequence[Sequence[tuple[float, float]]], steps: float) -> tuple[tuple[float, float], ...]:
    """All seeds are evaluated at the same steps; one that stopped early, or lags behind, counts as it was then."""
    longest = max(courses, key=len, default=[])
    known = [course for course in courses if course]
    return tuple(
        (min(1.0, at / max(1.0, steps)), sum(each[min(number, len(each) - 1)][1] for each in known) / len(known))
        for number, (at, _) in enumerate(longest)
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
