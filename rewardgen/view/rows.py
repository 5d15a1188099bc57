"""Candidates as rows: status, numbers and reason of each, for the screen, plain lines, tables and pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from rewardgen.core.formatting import first_sentence, with_spread
from rewardgen.store.history import History, Phase, is_ablation
from rewardgen.store.progress import Live
from rewardgen.store.records import CandidateRecord, CandidateResult, SliceFailure, SliceResult, Verdict

Status = Literal["designing", "checking", "repairing", "rejected", "waiting", "training", "trained", "failed"]


class Row(NamedTuple):
    """One candidate in one phase of a run."""

    id: str
    operator: str
    status: Status
    reason: str = ""
    """Reason of a rejection, failure or stop; otherwise the idea."""
    progress: float = 0.0
    """Share of the training done, 0 to 1."""
    measure: Literal["fitness", "strength"] = "fitness"
    """Meaning of `merit`: the task's fitness, or the strength by comparisons."""
    merit: float | None = None
    """Fitness, mean over seeds: of the last evaluations during training, then of the clean measurement; or strength."""
    spread: float = 0.0
    """Standard error of the merit; of a fitness, over seeds."""
    success_rate: float | None = None
    best: bool = False
    stopped: bool = False
    """True if a training stopped early, because the reward rose while the fitness fell."""
    course: tuple[tuple[float, float], ...] = ()
    """Share of the training, 0 to 1, and the mean fitness there."""

    @property
    def merit_text(self) -> str:
        """The merit with its standard error; empty without one."""
        return with_spread(self.merit, self.spread)

    @property
    def has_numbers(self) -> bool:
        """True if a training has begun."""
        return self.status in ("training", "trained")

    @property
    def has_ended_badly(self) -> bool:
        """True if the candidate will never have a fitness."""
        return self.status in ("rejected", "failed")


def search_rows(history: History, ids: Sequence[str], live: Live) -> list[Row]:
    """Rows of candidates, or of the task's own rewards, in the search; where comparisons decide, without fitness."""
    best = history.best()
    best_id, trains = best.candidate.id if best else None, _latest_trains(history, live)
    rows = [_search_row(history, id, live, trains)._replace(best=id == best_id) for id in ids]
    return [_by_answers(row, history) for row in rows] if history.by_answers else rows


def _by_answers(row: Row, history: History) -> Row:
    rank = history.ranking.rank(row.id)
    merit, spread = (rank.estimate, rank.standard_error) if rank else (None, 0.0)
    return row._replace(measure="strength", merit=merit, spread=spread, success_rate=None, course=())


def final_rows(history: History, live: Live) -> list[Row]:
    """Rows of the winner and the task's own rewards on the fresh seeds."""
    chosen = history.summary.chosen if history.summary else None
    rows = []
    for id in history.finalists:
        record = history.record(id)
        other = "the same reward without its `observe`" if is_ablation(id) else ""
        operator, idea = "baseline", other
        if record:
            operator, idea = record.candidate.operator, first_sentence(record.candidate.diagnosis)
        row = _training_row(Row(id, operator, "waiting", idea, best=id == chosen), "final", history, live)
        rows.append(row if history.has_fitness else row._replace(merit=None, course=()))
    return rows


def once_started(rows: list[Row]) -> list[Row]:
    """Rows of a batch: after all reviews, waiting candidates train, all at once."""
    if any(row.status in ("designing", "checking", "repairing") for row in rows):
        return rows
    return [row._replace(status="training") if row.status == "waiting" else row for row in rows]


def _search_row(history: History, id: str, live: Live, trains: bool) -> Row:
    if id in history.baselines:
        return _training_row(Row(id, "baseline", "waiting"), "search", history, live)
    record = history.record(id)
    if record is None:
        return Row(id, "", "designing")
    operator, idea = record.candidate.operator, first_sentence(record.candidate.diagnosis)
    if record.candidate.failure:
        return Row(id, operator, "rejected", record.candidate.failure)
    if (id, record.candidate.repairs) not in history.reviewed:
        if any(generation.finished for generation in history.generations[record.candidate.generation :][:1]):
            return Row(id, operator, "failed", "not reviewed: the time of the search was up")
        gate = live.get(("review", id, 0), {}).get("gate")
        return Row(id, operator, "checking", f"gate {gate}" if gate else idea)
    if not record.verdict.accepted:
        status = "repairing" if not trains and _may_be_repaired(history, record) else "rejected"
        return Row(id, operator, status, rejection(record.verdict))
    return _training_row(Row(id, operator, "waiting", idea), "search", history, live)


def _latest_trains(history: History, live: Live) -> bool:
    """True once a candidate of the latest generation trains: then none of its candidates is repaired any more."""
    ids = {*history.generations[-1].ids} if history.generations else set[str]()
    return any(phase == "search" and id in ids for phase, id, _ in (*live, *history.trained))


def _may_be_repaired(history: History, record: CandidateRecord) -> bool:
    current, candidate = history.generations[-1], record.candidate
    if candidate.generation != current.index or current.finished or history.status != "running":
        return False
    return record.verdict.repairable and not candidate.repairs


def rejection(verdict: Verdict) -> str:
    """The critic's first reason, and the number of further ones."""
    first, *others = verdict.rejections
    line = f" (line {first.line})" if first.line else ""
    return f"{first.gate}: {first.message}{line}" + (f", and {len(others)} more" if others else "")


def failure_text(failure: SliceFailure) -> str:
    """A failed training in one line."""
    at = f" at step {failure.env_steps}" if failure.env_steps else ""
    return f"{failure.message} ({failure.kind}{at})"


def _training_row(row: Row, phase: Phase, history: History, live: Live) -> Row:
    seeds, steps = history.seeds(phase, row.id), history.training.env_steps
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
            progress += min(1.0, message["env_steps"] / steps)
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
        merit=_mean(fitness),
        spread=result.fitness_spread if done else 0.0,
        success_rate=_mean(success),
        stopped=bool(result.stops),
        course=_mean_course(courses, steps),
    )


def _mean_course(courses: Sequence[Sequence[tuple[float, float]]], steps: float) -> tuple[tuple[float, float], ...]:
    """Mean over seeds at the steps of the longest course; a shorter course keeps its last value."""
    begun = [course for course in courses if course]
    points = []
    for number, (at, _) in enumerate(max(begun, key=len, default=[])):
        values = [course[min(number, len(course) - 1)][1] for course in begun]
        points.append((min(1.0, at / max(1.0, steps)), sum(values) / len(values)))
    return tuple(points)


def _mean(values: Sequence[float | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    return sum(numbers) / len(numbers) if numbers else None
