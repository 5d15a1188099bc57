"""Finals: one winner, chosen by the search alone, against the task's own rewards on fresh seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rewardgen.core.formatting import count, named, number, percent, with_interval, with_spread
from rewardgen.core.sequential import BLOCK, Look, look
from rewardgen.core.statistics import (
    Interval,
    Standing,
    bootstrap_interval,
    human_normalised,
    interquartile_mean,
    proportion_interval,
    standing,
    within_range,
)
from rewardgen.reward.observation import without_observation
from rewardgen.search.context import Context, ablations
from rewardgen.search.evaluating import train
from rewardgen.search.requests import feedback_for
from rewardgen.store.history import ABLATED, FinalRow, History, SeedRound, Summary, is_ablation
from rewardgen.store.records import BASELINES, CandidateResult


def run_finals(run: Context, reason: str) -> Summary:
    """Train the winner and the task's own rewards on fresh seeds, block by block, and sum up.

    The winner is the leader of the search. The next candidate replaces it only if one of its trainings fails.
    """
    history = run.history
    ranked = run.parts.judge.rank(run.records()).ids
    while ranked and _enter(run, ranked, reason):
        while seeds := _next_block(run):
            block = SeedRound(phase="final", generation=len(history.generations), seeds=seeds)
            run.journal.record("seeds-opened", **block.model_dump(mode="json"))
            train(run, "final", _sources(history))
    summary = summarise(reason, history)
    if history.judgement is None and summary.chosen:
        _judge(run, summary.chosen)
    if history.summary is None:
        run.journal.record("finished", summary=summary.model_dump(mode="json"))
    return summary


def _enter(run: Context, ranked: Sequence[str], reason: str) -> bool:
    """Freeze the winner, or the next candidate if the winner failed; False if nothing is left to train."""
    history = run.history
    if history.finalists:
        train(run, "final", _sources(history))  # trainings that an interruption left undone
        if history.finalists[0] not in _failed(history):
            return bool(_next_block(run))
    failed = _failed(history)
    candidates = [id for id in ranked if id not in failed]
    if not candidates:
        return False
    init = [id for id in (history.init_id,) if id in ranked and id not in (candidates[0], *failed)]
    ids = [candidates[0], *failed, *init, *history.baselines]
    if ablations(history, candidates[:1]):
        ids.append(candidates[0] + ABLATED)
    run.journal.record("finals-started", ids=ids, reason=reason)
    return True


def _failed(history: History, ids: Sequence[str] | None = None) -> list[str]:
    """Rewards that failed to train on a fresh seed: of `ids`, or of the candidates in the finals."""
    ids = [id for id in history.finalists if id not in BASELINES and not is_ablation(id)] if ids is None else ids
    results = {id: history.result("final", id) for id in ids}
    return [id for id, result in results.items() if result and result.failure]


def _sources(history: History) -> dict[str, str]:
    records = {id: history.record(id.removesuffix(ABLATED)) for id in history.finalists}
    sources = {id: record.candidate.source for id, record in records.items() if record}
    bare = {id: without_observation(source) for id, source in sources.items() if is_ablation(id)}
    return sources | bare | history.baselines


def opponents(history: History) -> tuple[str, ...]:
    """Rewards that the winner is compared with until the question is decided: the human reward and the user's own.

    The sparse reward replaces a human reward that is missing or failed to train. All others train on the first block.
    """
    if not history.has_fitness:
        return ()
    failed = _failed(history, (*history.baselines,))
    baseline = [id for id in BASELINES if id in history.baselines and id not in failed][:1]
    return (*baseline, *(id for id in (history.init_id,) if id in history.finalists[1:]))


def _next_block(run: Context) -> dict[str, tuple[int, ...]]:
    """Fresh seeds to open next, by id; empty once all questions are decided, or the seeds or the time are used up."""
    history = run.history
    winner, *others = history.finalists
    opened = len(history.seeds("final", winner))
    block = history.final_seeds[opened : opened + BLOCK]
    if not block or (opened and run.overtime):
        return {}
    if opened:
        looks = _looks(history)
        others = [id for id in opponents(history) if id in looks and not looks[id].over]
    if opened and not others:
        return {}
    # Seeds that an earlier, failed winner had opened are not opened again.
    seeds = {id: tuple(seed for seed in block if seed not in history.seeds("final", id)) for id in others}
    return {winner: block} | {id: new for id, new in seeds.items() if new}


def _looks(history: History) -> dict[str, Look]:
    values = {id: _fitness_values(history.result("final", id)) for id in history.finalists}
    winner, most = values[history.finalists[0]], len(history.final_seeds)
    compared = [id for id in opponents(history) if winner and values.get(id)]
    return {id: look(winner[: len(values[id])], values[id], most) for id in compared}


def _judge(run: Context, chosen: str) -> None:
    ask, result = run.parts.judge_result, run.history.result("final", chosen)
    if ask is None or result is None:
        return
    feedback = feedback_for(run.history, len(run.history.generations))
    run.journal.listener.note(f"asking {run.config.models[0]} whether {chosen} does what is wanted")

    async def judge() -> None:
        run.journal.record("judged", judgement=(await ask(result, feedback)).model_dump(mode="json"))

    run.gather([judge])


def summarise(reason: str, history: History) -> Summary:
    """Sum up a run."""
    results = {id: result for id in history.finalists if (result := history.result("final", id))}
    values = {id: _fitness_values(result) for id, result in results.items()}
    seen = [number for numbers in values.values() for number in numbers]
    estimates = {
        id: within_range(bootstrap_interval(numbers), history.card.best_fitness, seen)
        for id, numbers in values.items()
        if numbers and history.has_fitness
    }
    chosen = next((id for id in history.finalists[:1] if values.get(id)), None)
    looks = _looks(history) if chosen else {}
    against: dict[str, Standing] = {
        id: looks[id].standing if id in looks else standing(values[chosen], values[id])
        for id in BASELINES
        if chosen and id in estimates
    }
    baseline = next((id for id in opponents(history) if id in BASELINES), None) if chosen else None
    scale = human_scale(values)
    told = chosen and not history.has_fitness and _preferred(history, chosen)
    conclusion = [told or _conclusion(chosen, estimates, against, looks, results, scale is not None)]
    conclusion += [_about_failed(history), _about_init(history, chosen, estimates, looks)]
    conclusion += [_about_observation(chosen, values, estimates), _about_earlier(history)]
    return Summary(
        reason=reason,
        chosen=chosen,
        rows=tuple(_row(id, result, estimates, scale, history.starts) for id, result in results.items()),
        against_human=against.get("human"),
        against_sparse=against.get("sparse"),
        difference=looks[baseline].difference if baseline in looks else None,
        conclusion=" ".join(sentence for sentence in conclusion if sentence),
    )


def _fitness_values(result: CandidateResult | None) -> list[float]:
    return [*result.by_seed.values()] if result else []


def human_scale(values: Mapping[str, Sequence[float]]) -> tuple[float, float] | None:
    """Return the fitness of the human and the sparse reward; None if one is missing or failed, or they are
    within noise of each other.
    """
    human, sparse = values.get("human"), values.get("sparse")
    if not human or not sparse or standing(human, sparse) == "on par":
        return None
    return interquartile_mean(human), interquartile_mean(sparse)


def _row(
    id: str, result: CandidateResult, estimates: Mapping[str, Interval], scale: tuple[float, float] | None, starts: int
) -> FinalRow:
    fitness = estimates.get(id)
    rates = [run.final_success_rate for run in result.slices if run.final_success_rate is not None]
    return FinalRow(
        candidate_id=id,
        fitness=fitness,
        success_rate=result.success_rate if fitness else None,
        success_interval=proportion_interval(rates, starts) if fitness and len(rates) == len(result.slices) else None,
        parts=result.parts if fitness else {},
        human_normalised=human_normalised(fitness.value, *scale) if fitness and scale else None,
        seeds=len(result.slices),
        failure=f"{result.failure.kind}: {result.failure.message}" if result.failure else "",
    )


def _conclusion(
    chosen: str | None,
    estimates: Mapping[str, Interval],
    against: Mapping[str, Standing],
    looks: Mapping[str, Look],
    results: Mapping[str, CandidateResult],
    scaled: bool,
) -> str:
    if chosen is None:
        return "No candidate could be trained to the end, so there is no reward to recommend."
    result, seeds = results[chosen], len(results[chosen].slices)
    fitness = with_interval(estimates[chosen]) if seeds > 1 else number(estimates[chosen].value)
    success = "" if result.success_rate is None else f" and a success rate of {percent(result.success_rate)}"
    words = [
        f"{chosen} reaches a fitness of {fitness}{success} over {count(seeds, 'fresh seed')}.",
        *([f"Parts of the fitness: {named(result.parts)}."] if result.parts else []),
        *(_comparison(f"{id} reward", against[id], estimates[id], looks.get(id)) for id in BASELINES if id in against),
    ]
    failed = [id for id in BASELINES if id in results and id not in against]
    words += [f"The {id} reward failed to train, so the winner is not compared with it." for id in failed]
    if len(against) == len(BASELINES) and not scaled:
        words.append("The human and the sparse reward are within noise of each other: no human-normalised score.")
    words += ["With a single seed, every difference may be noise."] if seeds == 1 else []
    return " ".join(words)


def _preferred(history: History, chosen: str) -> str:
    """Tell who preferred the winner of a task without a fitness, and what nobody measured."""
    rank, answers, seeds = history.ranking.rank(chosen), history.comparisons, len(history.seeds("final", chosen))
    strength = f", with a strength of {with_spread(rank.estimate, rank.standard_error)}" if rank else ""
    by = f"{count(len(answers), 'answer')} by `{answers[-1].teacher}`" if answers else "no answer: it is the first one"
    return (
        f"{chosen} leads by {by}{strength}. It was trained on {count(seeds, 'fresh seed')} to the end; the task has no"
        " fitness, so only their films show how well."
    )


def _about_failed(history: History) -> str:
    failed = [id for id in _failed(history) if id != history.init_id]
    return f"{', '.join(failed)} led the search but failed to train on a fresh seed." if failed else ""


def _about_init(
    history: History, chosen: str | None, estimates: Mapping[str, Interval], looks: Mapping[str, Look]
) -> str:
    record = history.record(history.init_id) if history.init_id else None
    if record is None or chosen is None:
        return ""
    init, repaired = record.candidate.id, record.candidate.repairs > 0
    if init == chosen:
        return f"{init} is the reward of `--init`{' after a repair' if repaired else ''}; no better reward was found."
    if not history.has_fitness:
        return ""
    if init in _failed(history):
        return f"The reward of `--init`, {init}, failed to train on a fresh seed."
    if init not in looks:
        return f"The reward of `--init`, {init}, did not reach the finals."
    name = f"reward of `--init`{' after its repair' if repaired else ''}"
    return _comparison(name, looks[init].standing, estimates[init], looks[init])


def _about_observation(
    chosen: str | None, values: Mapping[str, Sequence[float]], estimates: Mapping[str, Interval]
) -> str:
    """Compare the winner with itself without its `observe`; empty if it has none or the comparison failed."""
    bare = f"{chosen}{ABLATED}"
    if chosen is None or bare not in estimates:
        return ""
    return _comparison("same reward without its `observe`", standing(values[chosen], values[bare]), estimates[bare])


def _about_earlier(history: History) -> str:
    """Disclose earlier finals: the user may have asked for more generations because of them."""
    if not history.earlier_finals:
        return ""
    chosen = ", ".join((summary and summary.chosen) or "nothing" for _, summary in history.earlier_finals)
    return f"Earlier finals on other seeds chose {chosen}, and the user saw them before asking for more generations."


def _comparison(name: str, result: Standing, estimate: Interval, seen: Look | None = None) -> str:
    text = f"It {'beats' if result == 'above' else 'does not beat'} the {name} ({number(estimate.value)})"
    text += {"above": "", "on par": ": they differ by no more than noise", "below": ", which is better"}[result]
    if seen and (difference := seen.difference):
        text += f"; the difference of the means is {with_interval(difference)}"
        bound = number(max(-difference.low, difference.high))
        text += f", so neither leads by more than {bound}" if result == "on par" else ""
    return f"{text}."
