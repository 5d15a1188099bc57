"""Facts of runs and candidates, made once: for screens, pages, cards and exports."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rewardgen.core.config import options_text
from rewardgen.core.errors import RunFolderError, RunFormatError
from rewardgen.core.formatting import (
    count,
    duration,
    money,
    number,
    percent,
    percent_interval,
    tokens,
    with_interval,
    with_spread,
)
from rewardgen.core.statistics import Interval
from rewardgen.store.history import FinalRow, History, Phase, Summary, status_of
from rewardgen.store.records import BASELINES, CandidateRecord
from rewardgen.store.run_folder import RunFolder
from rewardgen.view.rows import final_rows, search_rows

if TYPE_CHECKING:
    from rewardgen.critic.sandboxed import RewardPair


class RunFacts(NamedTuple):
    """One run. Numbers describe the chosen reward on fresh seeds; before the end, the leader on search seeds."""

    id: str
    task: str = ""
    model: str = ""
    strategy: str = ""
    options: str = ""
    """Options that are not the default."""
    goal: str = ""
    status: str = "damaged"
    generations: int = 0
    candidates: int = 0
    trained: int = 0
    """Candidates with a fitness in the search."""
    best: str | None = None
    phase: Phase = "search"
    fitness: float | None = None
    """Interquartile mean over the fresh seeds, or mean over the seeds of the search."""
    fitness_low: float | None = None
    fitness_high: float | None = None
    success_rate: float | None = None
    human_normalised: float | None = None
    against_human: str | None = None
    seeds: int = 0
    env_steps: int = 0
    """Control steps per training run."""
    env_steps_in_all: int = 0
    tokens: int = 0
    cost_usd: float | None = 0.0
    elapsed_s: float = 0.0


class CandidateFacts(NamedTuple):
    """One candidate, or one of the task's own rewards."""

    run: str
    id: str
    operator: str
    parents: tuple[str, ...]
    status: str
    reason: str
    fitness: float | None
    """Mean over the seeds of the search."""
    spread: float
    success_rate: float | None
    fresh_fitness: float | None
    """Mean over the fresh seeds."""
    components: tuple[str, ...]


def read_facts(folder: RunFolder) -> RunFacts:
    """Facts of a run folder, readable or not."""
    try:
        history = History.load(folder)
    except RunFormatError:
        return RunFacts(folder.id, status="other version")
    except RunFolderError:
        return RunFacts(folder.id)
    return run_facts(folder, history)


def run_facts(folder: RunFolder, history: History) -> RunFacts:
    """Facts of a run that was read."""
    config, summary, training, usage = history.config, history.summary, history.training, history.usage
    records = [record for id in history.ids() if (record := history.record(id))]
    return RunFacts(
        id=folder.id,
        task=history.card.name,
        model=config.model,
        strategy=config.strategy,
        options=options_text(config),
        goal=config.goal,
        status=status_of(folder, history),
        generations=len(history.generations),
        candidates=len(history.ids()),
        trained=sum(record.fitness is not None for record in records),
        against_human=summary.against_human if summary else None,
        env_steps=training.env_steps,
        env_steps_in_all=history.spent_steps,
        tokens=usage.tokens,
        cost_usd=None if usage.calls and not usage.tokens else usage.cost_usd,
        elapsed_s=history.elapsed_s,
        **_best(history),
    )


def _best(history: History) -> dict[str, Any]:
    row, leader = chosen_row(history.summary), history.best()
    if row:
        estimate = row.fitness
        bounds = {}
        if estimate:
            bounds = {"fitness": estimate.value, "fitness_low": estimate.low, "fitness_high": estimate.high}
        rates = {"success_rate": row.success_rate, "human_normalised": row.human_normalised}
        return {"best": row.candidate_id, "phase": "final", "seeds": row.seeds, **bounds, **rates}
    if history.summary or leader is None or leader.result is None:
        return {}
    rates = {"fitness": history.told(leader.fitness), "success_rate": leader.result.success_rate}
    return {"best": leader.candidate.id, "seeds": len(leader.result.slices), **rates}


def candidate_facts(run: str, history: History, id: str) -> CandidateFacts:
    """Facts of a candidate, or of one of the task's own rewards."""
    record, row, result = history.record(id), search_rows(history, [id], {})[0], history.result("search", id)
    fresh = next((row for row in final_rows(history, {}) if row.id == id), None)
    slices = [run for (_, name, _), run in history.trained.items() if name == id]
    return CandidateFacts(
        run=run,
        id=id,
        operator=record.candidate.operator if record else "baseline",
        parents=record.candidate.parents if record else (),
        status=row.status,
        reason=row.reason if row.has_ended_badly else "",
        fitness=history.told(result.fitness) if result else None,
        spread=result.fitness_spread if result else 0.0,
        success_rate=result.success_rate if result else None,
        fresh_fitness=fresh.merit if fresh else None,
        components=next((tuple(run.components) for run in slices if run.components), ()),
    )


def notes(one: History, *others: History) -> list[str]:
    """Sentences on differences that make runs incomparable with the first of them."""
    return list(dict.fromkeys(text for other in others for text in _notes(one, other)))


def _notes(one: History, other: History) -> list[str]:
    if one.card.name != other.card.name:
        names = f"{one.card.name} and {other.card.name}"
        return [f"The runs are on different tasks, {names}: their fitness cannot be compared."]
    texts = []
    if one.card.fingerprint != other.card.fingerprint:
        texts.append("The task file or its model changed between the runs: fitness may mean something else.")
    if one.training.env_steps != other.training.env_steps:
        steps = f"{one.training.env_steps:,} and {other.training.env_steps:,}"
        texts.append(f"The runs train for different numbers of steps, {steps}: the longer has the advantage.")
    if one.config.goal != other.config.goal:
        texts.append("The runs have different goals.")
    return texts


def _fitness(run: RunFacts) -> str:
    if run.fitness is None or run.fitness_low is None or run.fitness_high is None:
        return number(run.fitness)
    return with_interval(Interval(value=run.fitness, low=run.fitness_low, high=run.fitness_high))


def _seeds(run: RunFacts) -> str:
    return count(run.seeds, "fresh seed" if run.phase == "final" else "search seed") if run.seeds else ""


RUN_ROWS: Mapping[str, Callable[[RunFacts], str]] = {
    "task": lambda run: run.task,
    "model": lambda run: run.model,
    "strategy": lambda run: run.strategy,
    "options": lambda run: run.options,
    "goal": lambda run: run.goal,
    "status": lambda run: run.status,
    "generations": lambda run: str(run.generations),
    "candidates": lambda run: f"{run.candidates}, {run.trained} trained",
    "best": lambda run: run.best or "none",
    "fitness": _fitness,
    "measured on": _seeds,
    "success": lambda run: percent(run.success_rate),
    "human-normalised": lambda run: "" if run.human_normalised is None else f"{run.human_normalised:.2f}",
    "against human": lambda run: "within noise" if run.against_human == "on par" else run.against_human or "",
    "steps per training": lambda run: f"{run.env_steps:,}",
    "steps in all": lambda run: f"{run.env_steps_in_all:,}",
    "tokens": lambda run: tokens(run.tokens) if run.tokens else "",
    "cost": lambda run: money(run.cost_usd),
    "time": lambda run: duration(run.elapsed_s),
}

CANDIDATE_ROWS: Mapping[str, Callable[[CandidateFacts], str]] = {
    "run": lambda side: side.run,
    "origin": lambda side: f"{side.operator} of {' and '.join(side.parents)}" if side.parents else side.operator,
    "status": lambda side: side.status,
    "why": lambda side: side.reason,
    "fitness in the search": lambda side: with_spread(side.fitness, side.spread),
    "success in the search": lambda side: percent(side.success_rate),
    "mean fitness on fresh seeds": lambda side: number(side.fresh_fitness),
    "components": lambda side: ", ".join(side.components),
}


def fact_rows(facts: Sequence[RunFacts] | Sequence[CandidateFacts]) -> list[tuple[str, list[str]]]:
    """Names of the facts, each with a text per side; without facts that no side has."""
    cells: Mapping[str, Callable[[Any], str]] = RUN_ROWS if isinstance(facts[0], RunFacts) else CANDIDATE_ROWS
    rows = [(name, [cell(side) for side in facts]) for name, cell in cells.items()]
    return [(name, texts) for name, texts in rows if any(texts)]


def names_of(facts: Sequence[RunFacts] | Sequence[CandidateFacts]) -> list[str]:
    """Ids of the sides, after the run's id where two candidates share one."""
    ids = [side.id for side in facts]
    if len(set(ids)) == len(ids):
        return ids
    return [f"{side.run}:{side.id}" if isinstance(side, CandidateFacts) else side.id for side in facts]


DISTANCE_SCALE = "0: the same but for scale, shift and potential shaping; 1: opposite"


def distance_text(comparison: RewardPair) -> str:
    """The canonical distance of two rewards, never rounded to zero."""
    if comparison.distance is None:
        return "One of the rewards does not vary on the recorded transitions: there is no distance."
    return f"Canonical distance {comparison.distance:.3g}"


def component_rows(comparison: RewardPair) -> list[tuple[str, str, str, str]]:
    """Components of two rewards: name, share of the first reward's variation, of the second's, and distance."""
    first, second = comparison.shares
    rows = []
    for name in dict.fromkeys((*first, *second)):
        distance = comparison.same_name.get(name)
        apart = "" if distance is None else f"{distance:.3f}"
        rows.append((name, percent(first.get(name)), percent(second.get(name)), apart))
    return rows


MEASURED = (
    "The fitness of a seed is the mean over its last two checkpoints. A saved policy is the last one alone, so it may"
    " reach a little more or less: `rewardgen eval` measures it."
)
NORMALISED = "human-normalised"
HEADINGS: tuple[str, ...] = ("reward", "fitness (IQM) [95 %]", "success [95 %]", NORMALISED, "seeds")


class ClosingRow(NamedTuple):
    """One reward on the fresh seeds; the texts are empty if it failed to train."""

    id: str
    is_chosen: bool
    fitness: str
    success: str
    normalised: str
    seeds: str
    failure: str


def fitness_text(row: FinalRow) -> str:
    """Fitness on the fresh seeds; a single seed has no interval."""
    if row.fitness is None:
        return ""
    return with_interval(row.fitness) if row.seeds > 1 else number(row.fitness.value)


def chosen_row(summary: Summary | None) -> FinalRow | None:
    """The row of the chosen reward; None without one."""
    return summary.row(summary.chosen) if summary else None


def closing_rows(summary: Summary) -> list[ClosingRow]:
    """The closing table; empty for a task without a fitness, unless a training failed."""
    rows = []
    for row in summary.rows if any(row.fitness or row.failure for row in summary.rows) else ():
        normalised = None if row.candidate_id in BASELINES else row.human_normalised
        texts = (fitness_text(row), percent_interval(row.success_interval))
        texts += ("" if normalised is None else f"{normalised:.2f}", str(row.seeds), row.failure)
        rows.append(ClosingRow(row.candidate_id, row.candidate_id == summary.chosen, *texts))
    return rows


class Ancestor(NamedTuple):
    """One step of a lineage."""

    id: str
    operator: str
    parents: tuple[str, ...]
    outcome: str
    """Its fitness, or its strength by comparisons, in words."""
    depth: int
    """Steps back from the candidate; 0 is the candidate itself."""


def lineage(history: History, candidate_id: str) -> list[Ancestor]:
    """A candidate and all its ancestors, each once, nearest first."""
    ancestors: dict[str, Ancestor] = {}
    pending = [(candidate_id, 0)]
    for id, depth in pending:
        record = history.record(id)
        if record is not None and id not in ancestors:
            parents, row = record.candidate.parents, search_rows(history, [id], {})[0]
            outcome = f"{row.measure} {row.merit_text}" if row.merit is not None else f"no {row.measure}"
            ancestors[id] = Ancestor(id, record.candidate.operator, parents, outcome, depth)
            pending += [(parent, depth + 1) for parent in parents]
    return list(ancestors.values())


def parent_diffs(history: History, record: CandidateRecord) -> list[tuple[str, str]]:
    """Each parent with the unified diff from its source; none for a candidate without a source."""
    candidate = record.candidate
    parents = [parent.candidate for id in candidate.parents if candidate.source and (parent := history.record(id))]
    return [(parent.id, unified_diff(parent.source, candidate.source, parent.id, candidate.id)) for parent in parents]


def unified_diff(before: str, after: str, before_name: str, after_name: str) -> str:
    """Unified diff of two sources."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), before_name, after_name, lineterm="")
    return "\n".join(lines)
