"""What there is to compare of two runs, or of two candidates, and what keeps them from being compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from rewardgen.core.config import options_text
from rewardgen.core.formatting import duration, money, number, percent, tokens, with_spread
from rewardgen.store.history import History
from rewardgen.view.rows import final_rows, search_rows


class RunFacts(NamedTuple):
    """What there is to compare of a run."""

    id: str
    task: str
    model: str
    strategy: str
    options: str
    """What else it was told that is not the default."""
    goal: str
    status: str
    generations: int
    candidates: int
    trained: int
    """Candidates of the search with a fitness."""
    chosen: str | None
    fitness: float | None
    """Of the chosen reward: interquartile mean over the fresh seeds."""
    fitness_low: float | None
    fitness_high: float | None
    success_rate: float | None
    human_normalised: float | None
    against_human: str | None
    seeds: int
    env_steps: int
    """Of one training."""
    env_steps_in_all: int
    tokens: int
    cost_usd: float | None
    elapsed_s: float


class CandidateFacts(NamedTuple):
    """What there is to compare of a candidate, or of one of the task's own rewards."""

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


def run_facts(id: str, history: History, status: str) -> RunFacts:
    """What there is to compare of a run.

    Args:
        id: The run's id.
        history: What is known of it.
        status: Its status in words.
    """
    config, summary, training = history.config, history.summary, history.training
    rows = [each for each in summary.rows if each.candidate_id == summary.chosen] if summary else []
    row = rows[0] if rows else None
    estimate = row.fitness if row else None
    records = [record for each in history.ids() if (record := history.record(each))]
    return RunFacts(
        id=id,
        task=history.card.name if history.card else "",
        model=config.model if config else "",
        strategy=config.strategy if config else "",
        options=options_text(config) if config else "",
        goal=config.goal if config else "",
        status=status,
        generations=len(history.generations),
        candidates=len(history.ids()),
        trained=sum(record.fitness is not None for record in records),
        chosen=summary.chosen if summary else None,
        fitness=estimate.value if estimate else None,
        fitness_low=estimate.low if estimate else None,
        fitness_high=estimate.high if estimate else None,
        success_rate=row.success_rate if row else None,
        human_normalised=row.human_normalised if row else None,
        against_human=summary.against_human if summary else None,
        seeds=row.seeds if row else 0,
        env_steps=training.env_steps if training else 0,
        env_steps_in_all=history.spent_steps,
        tokens=history.usage.prompt_tokens + history.usage.completion_tokens,
        cost_usd=history.usage.cost_usd,
        elapsed_s=history.elapsed_s,
    )


def candidate_facts(run: str, history: History, id: str) -> CandidateFacts:
    """What there is to compare of a candidate.

    Args:
        run: Id of its run.
        history: What is known of the run.
        id: A candidate that has been designed, or one of the task's own rewards.
    """
    record, own = history.record(id), history.baseline_record(id)
    fresh = next((row for row in final_rows(history, {}) if row.id == id), None)
    row = search_rows(history, [id], {})[0] if record else None
    slices = [each for (_, of, _), each in history.trained.items() if of == id]
    shown = row or fresh
    searched = own.result if own else None
    return CandidateFacts(
        run=run,
        id=id,
        operator=record.candidate.operator if record else "baseline",
        parents=record.candidate.parents if record else (),
        status=shown.status if shown else "not trained",
        reason=shown.reason if shown and shown.has_ended_badly else "",
        fitness=row.fitness if row else searched.fitness if searched else None,
        spread=row.spread if row else (searched and searched.fitness_spread) or 0.0,
        success_rate=row.success_rate if row else searched.success_rate if searched else None,
        fresh_fitness=fresh.fitness if fresh else None,
        components=next((tuple(each.components) for each in slices if each.components), ()),
    )


def notes(one: History, *others: History) -> list[str]:
    """What keeps runs from being compared with the first of them, in sentences."""
    return list(dict.fromkeys(told for other in others for told in _notes(one, other)))


def _notes(one: History, other: History) -> list[str]:
    found = []
    if one.card and other.card and one.card.name != other.card.name:
        names = f"{one.card.name} and {other.card.name}"
        return [f"The runs are on different tasks, {names}: their fitness cannot be compared."]
    if one.card and other.card and one.card.fingerprint != other.card.fingerprint:
        found.append("The task file or its model changed between the runs: fitness may mean something else.")
    if one.training and other.training and one.training.env_steps != other.training.env_steps:
        steps = " and ".join(f"{each.env_steps:,}" for each in (one.training, other.training))
        found.append(f"The runs train for different numbers of steps, {steps}: the longer has the advantage.")
    if one.config and other.config and one.config.goal != other.config.goal:
        found.append("The runs were given different goals.")
    return found


def _fitness(run: RunFacts) -> str:
    if run.fitness is None or run.fitness_low is None or run.fitness_high is None:
        return ""
    return f"{number(run.fitness)} [{number(run.fitness_low)}, {number(run.fitness_high)}]"


RUN_ROWS: Mapping[str, Callable[[RunFacts], str]] = {
    "task": lambda run: run.task,
    "model": lambda run: run.model,
    "strategy": lambda run: run.strategy,
    "options": lambda run: run.options,
    "goal": lambda run: run.goal,
    "status": lambda run: run.status,
    "generations": lambda run: str(run.generations),
    "candidates": lambda run: f"{run.candidates}, {run.trained} trained",
    "chosen": lambda run: run.chosen or "none",
    "fitness (IQM)": _fitness,
    "success": lambda run: percent(run.success_rate),
    "human-normalised": lambda run: "" if run.human_normalised is None else f"{run.human_normalised:.2f}",
    "against human": lambda run: {"on par": "within noise"}.get(found := run.against_human or "", found),
    "fresh seeds": lambda run: str(run.seeds or ""),
    "steps per training": lambda run: f"{run.env_steps:,}",
    "steps in all": lambda run: f"{run.env_steps_in_all:,}",
    "tokens": lambda run: tokens(run.tokens) if run.tokens else "",
    "cost": lambda run: money(run.cost_usd),
    "time": lambda run: duration(run.elapsed_s),
}

CANDIDATE_ROWS: Mapping[str, Callable[[CandidateFacts], str]] = {
    "run": lambda each: each.run,
    "origin": lambda each: f"{each.operator} of {' and '.join(each.parents)}" if each.parents else each.operator,
    "status": lambda each: each.status,
    "why": lambda each: each.reason,
    "fitness": lambda each: with_spread(each.fitness, each.spread),
    "success": lambda each: percent(each.success_rate),
    "on fresh seeds": lambda each: number(each.fresh_fitness),
    "components": lambda each: ", ".join(each.components),
}


def table(facts: Sequence[RunFacts] | Sequence[CandidateFacts]) -> list[tuple[str, list[str]]]:
    """What there is to compare, by its name: a text for each side; what none of them has is left out.

    Args:
        facts: Of runs, or of candidates.
    """
    told = [(name, [cell(each) for each in facts if isinstance(each, RunFacts)]) for name, cell in RUN_ROWS.items()]
    told += [
        (name, [cell(each) for each in facts if isinstance(each, CandidateFacts)])
        for name, cell in CANDIDATE_ROWS.items()
    ]
    return [(name, texts) for name, texts in told if any(texts)]


def names_of(facts: Sequence[RunFacts] | Sequence[CandidateFacts]) -> list[str]:
    """What to call each side: a candidate's id, with its run's where that alone is not clear."""
    ids = [each.id for each in facts]
    if len(set(ids)) == len(ids):
        return ids
    return [f"{each.run}:{each.id}" if isinstance(each, CandidateFacts) else each.id for each in facts]


DISTANCE_SCALE = "0: the same but for scale, shift and potential shaping; 1: opposite"
"""What a canonical distance of two rewards means."""
NO_DISTANCE = "One of the rewards does not vary on the recorded transitions: there is no distance."


def distance_text(distance: float) -> str:
    """A canonical distance, never rounded to none."""
    return f"{distance:.3f}" if distance >= 0.001 or distance == 0 else f"{distance:.1g}"
