"""What there is to compare of two runs, or of two candidates, and what keeps them from being compared."""

from __future__ import annotations

from typing import NamedTuple

from rewardgen.store.history import History
from rewardgen.store.rows import final_rows, search_rows


class RunFacts(NamedTuple):
    """What there is to compare of a run."""

    id: str
    task: str
    model: str
    strategy: str
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
    record = history.record(id)
    fresh = next((row for row in final_rows(history, {}) if row.id == id), None)
    row = search_rows(history, [id], {})[0] if record else None
    slices = [each for (_, of, _), each in history.trained.items() if of == id]
    shown = row or fresh
    return CandidateFacts(
        run=run,
        id=id,
        operator=record.candidate.operator if record else "baseline",
        parents=record.candidate.parents if record else (),
        status=shown.status if shown else "not trained",
        reason=shown.reason if shown and shown.has_ended_badly else "",
        fitness=row.fitness if row else None,
        spread=row.spread if row else 0.0,
        success_rate=row.success_rate if row else None,
        fresh_fitness=fresh.fitness if fresh else None,
        components=next((tuple(each.components) for each in slices if each.components), ()),
    )


def notes(one: History, other: History) -> list[str]:
    """What keeps two runs from being compared, in sentences."""
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
