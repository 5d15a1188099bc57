"""The finals: one winner, chosen on the search alone, against the task's own rewards on fresh seeds, in plain words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rewardgen.core.formatting import named, number, percent, with_interval
from rewardgen.core.sequential import BLOCK, Look, look
from rewardgen.core.statistics import (
    Interval,
    Standing,
    bootstrap_interval,
    human_normalised,
    interquartile_mean,
    proportion_interval,
    standing,
)
from rewardgen.search.context import Context
from rewardgen.search.evaluating import train
from rewardgen.search.feedback import feedback_for
from rewardgen.store.history import FinalRow, History, Opening, Summary
from rewardgen.store.measurements import STARTS
from rewardgen.store.records import BASELINES, CandidateResult


def run_finals(run: Context, reason: str) -> Summary:
    """Train the winner and the task's own rewards on fresh seeds, block by block, and sum up.

    The winner is whoever leads the search. Only if it fails to train on a fresh seed, the next takes its place.

    Args:
        run: The run.
        reason: Why the search stopped.
    """
    history = run.history
    ranked = run.parts.judge.rank(run.records()).ids
    while ranked and _enter(run, ranked, reason):
        while seeds := _next_block(history):
            opening = Opening(phase="final", generation=len(history.generations), seeds=seeds)
            run.journal.record("seeds-opened", **opening.model_dump(mode="json"))
            train(run, "final", _sources(history))
    _confirm(run)
    summary = summarise(reason, history)
    if history.judgement is None and summary.chosen:
        _judge(run, summary.chosen)
    if history.summary is None:
        run.journal.record("finished", summary=summary.model_dump(mode="json"))
    return summary


def _enter(run: Context, ranked: Sequence[str], reason: str) -> bool:
    """Freeze the winner, or name the next if it failed; False if there is nothing more to train."""
    history = run.history
    if history.finalists:
        train(run, "final", _sources(history))  # what was left undone
        if history.finalists[0] not in _fallen(history):
            return bool(_next_block(history))
    fallen = _fallen(history)
    left = [id for id in ranked if id not in fallen]
    if not left:
        return False
    given = [id for id in (history.given_id,) if id in ranked and id not in (left[0], *fallen)]
    ids = [left[0], *fallen, *given, *history.baselines]
    run.journal.record("finals-started", ids=ids, reason=reason)
    return True


def _fallen(history: History, ids: Sequence[str] | None = None) -> list[str]:
    """Which of some rewards, or of the candidates in the finals, failed to train on a fresh seed."""
    wanted = [id for id in history.finalists if id not in BASELINES] if ids is None else ids
    results = {id: history.result("final", id) for id in wanted}
    return [id for id, result in results.items() if result and result.failure]


def _sources(history: History) -> dict[str, str]:
    """The rewards that train on fresh seeds."""
    records = {id: history.record(id) for id in history.finalists}
    return {id: record.candidate.source for id, record in records.items() if record} | history.baselines


def opponents(history: History) -> tuple[str, ...]:
    """What the winner is compared with until it is decided: the human reward and a given one.

    The sparse reward stands in for the human one where there is none, or it failed to train.

    What else there is trains on the first block only.
    """
    failed = _fallen(history, (*history.baselines,))
    own = [id for id in BASELINES if id in history.baselines and id not in failed][:1]
    given = [id for id in (history.given_id,) if id in history.finalists[1:]]
    return (*own, *given)


def _next_block(history: History) -> dict[str, tuple[int, ...]]:
    """Fresh seeds to open next, by id; empty if all is decided, or they are used up."""
    winner, *others = history.finalists
    opened = len(history.seeds("final", winner))
    block = history.final_seeds[opened : opened + BLOCK]
    if not block:
        return {}
    if opened:
        looks = _looks(history)
        others = [id for id in opponents(history) if id in looks and not looks[id].over]
    known = {id: history.seeds("final", id) for id in others}  # a winner that failed had opened some of them
    wanted = {id: tuple(seed for seed in block if seed not in known[id]) for id in others}
    return {winner: block} | {id: seeds for id, seeds in wanted.items() if seeds} if others or not opened else {}


def _confirm(run: Context) -> None:
    """Train the winner and what it is compared with once more, with more steps, if that is wanted."""
    history = run.history
    if run.config.confirm is None or not history.finalists:
        return
    ids = [history.finalists[0], *(id for id in _looks(history) if id in BASELINES)]
    if len(ids) < 2:
        return
    if not history.seeds("confirm", ids[0]):
        seeds = dict.fromkeys(ids, history.final_seeds[:BLOCK])
        opening = Opening(phase="confirm", generation=len(history.generations), seeds=seeds)
        run.journal.record("seeds-opened", **opening.model_dump(mode="json"))
    train(run, "confirm", {id: source for id, source in _sources(history).items() if id in ids})


def _confirmed(history: History, bar: str | None) -> Look | None:
    """How the winner stands against another reward with more steps for both; None if that is not known."""
    winner, other = (_fitness_values(history.result("confirm", id or "")) for id in (history.finalists[0], bar))
    return look(winner, other, len(winner)) if winner and other else None


def _looks(history: History) -> dict[str, Look]:
    """How the winner stands against each of its opponents by the seeds that both have."""
    values = {id: _fitness_values(history.result("final", id)) for id in history.finalists}
    own, most = values[history.finalists[0]], len(history.final_seeds)
    return {id: look(own[: len(values[id])], values[id], most) for id in opponents(history) if own and values.get(id)}


def _judge(run: Context, chosen: str) -> None:
    """Have a language model say whether it is what was asked for, if there is one."""
    ask, result = run.parts.judge_result, run.history.result("final", chosen)
    if ask is None or result is None:
        return
    feedback = feedback_for(run.history, len(run.history.generations))

    async def judge() -> None:
        run.journal.record("judged", judgement=(await ask(result, feedback)).model_dump(mode="json"))

    run.gather([judge()])


def summarise(reason: str, history: History) -> Summary:
    """Sum up a run.

    Args:
        reason: Why the search stopped.
        history: The run's history, with the results of the final phase.
    """
    results = {id: result for id in history.finalists if (result := history.result("final", id))}
    values = {id: _fitness_values(result) for id, result in results.items()}
    estimates = {id: bootstrap_interval(each) for id, each in values.items() if each}
    chosen = next(iter(history.finalists), None)
    chosen = chosen if chosen in estimates else None
    looks = _looks(history) if chosen else {}
    against: dict[str, Standing] = {
        id: looks[id].standing if id in looks else standing(values[chosen], values[id])
        for id in BASELINES
        if chosen and id in estimates
    }
    bar = next((id for id in opponents(history) if id in BASELINES), None) if chosen else None
    scale = human_scale(values)
    longer = _confirmed(history, bar) if chosen else None
    return Summary(
        reason=reason,
        chosen=chosen,
        rows=tuple(_row(id, result, estimates, scale) for id, result in results.items()),
        against_human=against.get("human"),
        against_sparse=against.get("sparse"),
        difference=looks[bar].difference if bar in looks else None,
        confirmed=longer.standing if longer else None,
        conclusion=_conclusion(chosen, estimates, against, looks, results, scale is not None)
        + (_about_longer(history, bar, against[bar], longer) if longer and bar in against else "")
        + _about_fallen(history)
        + _about_given(history, chosen, estimates, looks)
        + _about_opened(history),
    )


def _fitness_values(result: CandidateResult | None) -> list[float]:
    return [*result.by_seed.values()] if result else []


def human_scale(values: Mapping[str, Sequence[float]]) -> tuple[float, float] | None:
    """Fitness of the human and the sparse reward; None unless they differ beyond noise, for then it is no scale."""
    human, sparse = values.get("human"), values.get("sparse")
    if not human or not sparse or standing(human, sparse) == "on par":
        return None
    return interquartile_mean(human), interquartile_mean(sparse)


def _row(
    id: str, result: CandidateResult, estimates: Mapping[str, Interval], scale: tuple[float, float] | None
) -> FinalRow:
    own = estimates.get(id)
    rates = [each.final_success_rate for each in result.slices if each.final_success_rate is not None]
    return FinalRow(
        candidate_id=id,
        fitness=own,
        success_rate=result.success_rate if own else None,
        success_interval=proportion_interval(rates, STARTS) if own and len(rates) == len(result.slices) else None,
        parts=result.parts if own else {},
        human_normalised=human_normalised(own.value, *scale) if own and scale else None,
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
    own = estimates[chosen]
    rate, seeds = results[chosen].success_rate or 0.0, len(results[chosen].slices)
    words = [
        f"{chosen} reaches a fitness of {with_interval(own) if seeds > 1 else number(own.value)} "
        f"and a success rate of {percent(rate)} over {seeds} fresh {'seed' if seeds == 1 else 'seeds'}."
    ]
    words += [f"Parts of the fitness: {named(parts)}."] if (parts := results[chosen].parts) else []
    words += [_comparison(id, against[id], estimates[id], looks.get(id)) for id in BASELINES if id in against]
    words += [
        f"The {id} reward failed to train, so there is no comparison with it."
        for id in BASELINES
        if id in results and id not in against
    ]
    if len(against) == len(BASELINES) and not scaled:
        words.append("The human and the sparse reward are within noise of each other: no human-normalised score.")
    words += ["With a single seed, any of this may be noise."] if seeds == 1 else []
    return " ".join(words)


def _about_longer(history: History, bar: str, before: Standing, longer: Look) -> str:
    """Whether the winner learns faster, ends higher, or both."""
    assert history.config is not None
    steps = f" With {number(history.config.confirm or 1.0)} times the steps"
    difference = longer.difference
    told = f" (difference of the means {with_interval(difference)})" if difference else ""
    if longer.standing == "above":
        faster = "still beats" if before == "above" else "beats"
        return f"{steps} it {faster} the {bar} reward{told}: it ends higher."
    if longer.standing == "below":
        return f"{steps} the {bar} reward is better{told}."
    faster = ": it learns faster, and is not known to end higher" if before == "above" else ""
    return f"{steps} it is within noise of the {bar} reward{told}{faster}."


def _about_fallen(history: History) -> str:
    """Which better candidates of the search failed on a fresh seed."""
    fallen = [id for id in _fallen(history) if id != history.given_id]
    return f" {', '.join(fallen)} led the search, and failed to train on a fresh seed." if fallen else ""


def _about_given(
    history: History, chosen: str | None, estimates: Mapping[str, Interval], looks: Mapping[str, Look]
) -> str:
    """What became of the reward that a person gave, if there was one."""
    record = history.record(history.given_id) if history.given_id else None
    if record is None or chosen is None:
        return ""
    given, repaired = record.candidate.id, ", once repaired" if record.candidate.repairs else ""
    if given == chosen:
        return f" {given} is the reward that the run was given{repaired}: nothing better was found."
    if given in _fallen(history):
        return f" The reward that the run was given, {given}, failed to train on a fresh seed."
    if given not in looks:
        return f" The reward that the run was given, {given}, did not come to the finals."
    name = "given, then repaired" if repaired else "given"
    return " " + _comparison(name, looks[given].standing, estimates[given], looks[given])


def _about_opened(history: History) -> str:
    """That finals were opened before, for whoever asked for more generations may have done so because of them."""
    if not history.opened:
        return ""
    times = "before" if len(history.opened) == 1 else f"{len(history.opened)} times before"
    chosen = ", ".join((each and each.chosen) or "nothing" for _, each in history.opened)
    return f" Finals were opened {times}, on other seeds, and chose {chosen}: whoever had the run go on could see that."


def _comparison(baseline: str, found: Standing, estimate: Interval, seen: Look | None = None) -> str:
    """How the winner stands against another reward, and how sure that is."""
    text = f"It {'beats' if found == 'above' else 'does not beat'} the {baseline} reward ({number(estimate.value)})"
    text += {"above": "", "on par": ": the two are within noise", "below": ", which is better"}[found]
    if seen and (difference := seen.difference):
        text += f" (difference of the means {with_interval(difference)}"
        text += f": none larger than {number(max(-difference.low, difference.high))})" if found == "on par" else ")"
    return f"{text}."
