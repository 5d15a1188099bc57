"""The finals: finalists and the task's own rewards trained on fresh seeds, and what they reached in plain words."""

from __future__ import annotations

from collections.abc import Sequence

from rewardgen.core.formatting import named, number, percent
from rewardgen.core.statistics import (
    Interval,
    Standing,
    bootstrap_interval,
    human_normalised,
    interquartile_mean,
    standing,
)
from rewardgen.search.context import Context
from rewardgen.search.evaluating import train
from rewardgen.search.feedback import feedback_for
from rewardgen.search.judge import Judge
from rewardgen.store.history import FinalRow, History, Summary
from rewardgen.store.records import BASELINES, CandidateRecord, CandidateResult


def run_finals(run: Context, reason: str) -> Summary:
    """Train the finalists and the task's own rewards on the fresh seeds, and sum up.

    Args:
        run: The run.
        reason: Why the search stopped.
    """
    history = run.history
    ranked = run.parts.judge.rank(run.records()).ids
    finalists = [id for place, id in enumerate(ranked) if place < run.config.finalists or id == history.given_id]
    sources = {id: record.candidate.source for id in finalists if (record := history.record(id))}
    if sources:
        sources |= history.baselines
        if not history.finalists:
            run.journal.record("finals-started", ids=list(sources), reason=reason)
        train(run, "final", sources)
    summary = summarise(reason, list(sources), history, run.parts.judge)
    if history.judgement is None and summary.chosen:
        _judge(run, summary.chosen)
    if history.summary is None:
        run.journal.record("finished", summary=summary.model_dump(mode="json"))
    return summary


def _judge(run: Context, chosen: str) -> None:
    """Have a language model say whether it is what was asked for, if there is one."""
    ask, result = run.parts.judge_result, run.history.result("final", chosen)
    if ask is None or result is None:
        return
    feedback = feedback_for(run.history, len(run.history.generations))

    async def judge() -> None:
        run.journal.record("judged", judgement=(await ask(result, feedback)).model_dump(mode="json"))

    run.gather([judge()])


def summarise(reason: str, ids: Sequence[str], history: History, judge: Judge) -> Summary:
    """Sum up a run.

    Args:
        reason: Why the search stopped.
        ids: What was trained on the fresh seeds: finalists and baselines.
        history: The run's history, with the results of the final phase.
        judge: Chooses among the finalists by what they reached there.

    Returns:
        The summary.
    """
    results = {id: result for id in ids if (result := history.result("final", id))}
    values = {id: _fitness_values(result) for id, result in results.items()}
    estimates = {id: bootstrap_interval(each) for id, each in values.items() if each}
    finalists = [history.record(id, "final") for id in results if id not in BASELINES]
    ranking = judge.rank([record for record in finalists if record], "final")
    chosen = next((id for id in ranking.ids if id in estimates), None)
    against: dict[str, Standing] = {
        id: standing(values[chosen], values[id]) for id in BASELINES if chosen and id in estimates
    }
    return Summary(
        reason=reason,
        chosen=chosen,
        rows=tuple(_row(id, result, estimates, _scale(values)) for id, result in results.items()),
        against_human=against.get("human"),
        against_sparse=against.get("sparse"),
        conclusion=_conclusion(chosen, estimates, against, results, _scale(values) is not None)
        + _about_given(history.record(history.given_id) if history.given_id else None, chosen, estimates, values)
        + _about_opened(history),
    )


def _fitness_values(result: CandidateResult) -> list[float]:
    """Fitness per seed; empty if any seed failed, because the rest would be a selection."""
    values = [each.final_fitness for each in result.slices if each.failure is None and each.final_fitness is not None]
    return values if len(values) == len(result.slices) else []


def _scale(values: dict[str, list[float]]) -> tuple[float, float] | None:
    """Fitness of the human and the sparse reward; None unless they differ beyond noise, for then it is no scale."""
    human, sparse = values.get("human"), values.get("sparse")
    if not human or not sparse or standing(human, sparse) == "on par":
        return None
    return interquartile_mean(human), interquartile_mean(sparse)


def _row(
    id: str, result: CandidateResult, estimates: dict[str, Interval], scale: tuple[float, float] | None
) -> FinalRow:
    own = estimates.get(id)
    normalised = human_normalised(own.value, *scale) if own and scale else None
    return FinalRow(
        candidate_id=id,
        fitness=own,
        success_rate=result.success_rate if own else None,
        parts=result.parts if own else {},
        human_normalised=normalised,
        seeds=len(result.slices),
        failure=f"{result.failure.kind}: {result.failure.message}" if result.failure else "",
    )


def _conclusion(
    chosen: str | None,
    estimates: dict[str, Interval],
    against: dict[str, Standing],
    results: dict[str, CandidateResult],
    scaled: bool,
) -> str:
    if chosen is None:
        return "No candidate could be trained to the end, so there is no reward to recommend."
    own = estimates[chosen]
    rate, seeds = results[chosen].success_rate or 0.0, len(results[chosen].slices)
    words = [
        f"{chosen} reaches a fitness of {number(own.value)} [{number(own.low)}, {number(own.high)}] "
        f"and a success rate of {percent(rate)} over {seeds} fresh {'seed' if seeds == 1 else 'seeds'}."
    ]
    words += [f"Parts of the fitness: {named(parts)}."] if (parts := results[chosen].parts) else []
    words += [_comparison(id, against[id], estimates[id]) for id in BASELINES if id in against]
    words += [
        f"The {id} reward failed to train, so there is no comparison with it."
        for id in BASELINES
        if id in results and id not in against
    ]
    if len(against) == len(BASELINES) and not scaled:
        words.append("The human and the sparse reward are within noise of each other: no human-normalised score.")
    words += ["With a single seed, any of this may be noise."] if seeds == 1 else []
    return " ".join(words)


def _about_given(
    record: CandidateRecord | None, chosen: str | None, estimates: dict[str, Interval], values: dict[str, list[float]]
) -> str:
    """What became of the reward that a person gave, if there was one."""
    if record is None or chosen is None:
        return ""
    given, repaired = record.candidate.id, ", once repaired" if record.candidate.repairs else ""
    if given == chosen:
        return f" {given} is the reward that the run was given{repaired}: nothing better was found."
    if given not in estimates:
        return f" The reward that the run was given, {given}, did not come to the finals."
    name = "given, then repaired" if repaired else "given"
    return " " + _comparison(name, standing(values[chosen], values[given]), estimates[given])


def _about_opened(history: History) -> str:
    """That finals were opened before, for whoever asked for more generations may have done so because of them."""
    if not history.opened:
        return ""
    times = "before" if len(history.opened) == 1 else f"{len(history.opened)} times before"
    chosen = ", ".join((each and each.chosen) or "nothing" for _, each in history.opened)
    return f" Finals were opened {times}, on other seeds, and chose {chosen}: whoever had the run go on could see that."


def _comparison(baseline: str, found: Standing, estimate: Interval) -> str:
    text = {
        "above": f"It beats the {baseline} reward",
        "on par": f"It does not beat the {baseline} reward: the two are within noise",
        "below": f"It does not beat the {baseline} reward, which is better",
    }[found]
    return f"{text} ({number(estimate.value)})."
