"""The search: the loop that designs, reviews, trains and studies generations of rewards, then the finals.

Every step asks the history first and records what it did, so that a resumed run walks the same road and repeats nothing
that was finished.
"""

from __future__ import annotations

from rewardgen.core.config import RunConfig
from rewardgen.core.errors import UsageError
from rewardgen.core.formatting import number
from rewardgen.search.budget import budget_doubt
from rewardgen.search.context import Context, Parts
from rewardgen.search.designing import design
from rewardgen.search.evaluating import study, train
from rewardgen.search.finals import run_finals
from rewardgen.search.judge import FitnessJudge, stalled_generations
from rewardgen.search.leaders import settle
from rewardgen.search.reviewing import review
from rewardgen.search.tuning import tuned_slots
from rewardgen.store.history import Summary
from rewardgen.store.journal import Journal
from rewardgen.store.ranking import Ranking, leads
from rewardgen.store.records import Slot, TaskCard


def run_search(config: RunConfig, card: TaskCard, parts: Parts, journal: Journal) -> Summary | None:
    """Search until a reason to stop, then train the winner on fresh seeds.

    Returns:
        How it ended; None if trainings are to have more steps from now on: it goes on with parts made anew for that.

    Args:
        config: The run's configuration.
        card: The task as the designer sees it.
        parts: Who does the work.
        journal: The run's memory.
    """
    run = Context(config, card, parts, journal)
    generation = 0
    while not (reason := _stop_reason(run, generation)):
        slots = _plan(run, generation)
        drafts = design(run, generation, slots)
        sound = review(run, generation, slots, drafts)
        train(run, "search", {each.id: each.source for each in sound} | run.history.baselines)
        settle(run, generation, to_the_end=False)
        study(run, slots, diagnose=run.parts.strategy.learns and not _stop_reason(run, generation + 1))
        _finish(run, generation)
        if generation == 0 and _raise_steps(run):
            return None
        generation += 1
    if not run.history.stop_reason:
        run.journal.record("search-ended", reason=reason)  # further seeds may change what it was decided from
    settle(run, generation, to_the_end=True)
    return run_finals(run, reason)


def _stop_reason(run: Context, generation: int) -> str:
    """Why no further generation starts; empty to go on. One that was started before is always taken up again."""
    config, history = run.config, run.history
    if generation < len(history.generations):
        return ""
    if history.stop_reason or history.exhausted:
        return history.stop_reason or history.exhausted
    best, target, promised = history.best(), config.target_fitness, generation < history.promised
    if target == "human":
        if best and not promised and _beats_human(run, best.candidate.id):
            return f"{best.candidate.id} beats the human reward by more than noise"
    elif best and best.fitness is not None and target is not None and best.fitness >= target and not promised:
        return f"target fitness {target:g} reached"
    if best and run.card.is_best(best.fitness) and not promised:
        return (
            f"a fitness of {number(best.fitness or 0.0)} was reached, and {number(run.card.best_fitness or 0.0)} is all"
        )
    if fault := history.own_fault:
        return f"nothing can be trained, the task's own rewards neither: {fault}"
    if generation >= config.generations:
        return "the one generation is done" if generation == 1 else f"all {generation} generations done"
    if run.time_up:
        return run.time_up
    if generation and run.steps_left < _steps_of_a_generation(run) + run.final_steps:
        return f"the limit of {config.max_steps or 0:,} steps has no room for another generation and the finals"
    if promised or not run.parts.strategy.learns:
        return ""
    stalled = stalled_generations(run.records(), run.parts.judge)
    return f"no gain beyond noise for {stalled} generations" if stalled >= config.patience else ""


def _steps_of_a_generation(run: Context) -> int:
    assert run.history.training is not None
    return (run.config.candidates + run.config.tune) * run.config.seeds * run.history.training.env_steps


def _beats_human(run: Context, id: str) -> bool:
    ranking = _by_fitness(run)
    best, bar = ranking.rank(id), ranking.rank("human")
    return best is not None and bar is not None and leads(best, bar)


def _by_fitness(run: Context) -> Ranking:
    """All candidates and the task's own rewards, whatever the run is judged by."""
    own = [each for name in run.history.baselines if (each := run.history.baseline_record(name))]
    return FitnessJudge().rank([*run.records(), *own])


def _raise_steps(run: Context) -> bool:
    """Say that the steps are too few to tell rewards apart, if they are, and raise them if that is wanted."""
    history, config = run.history, run.config
    if history.doubt is not None or len(history.generations) > 1 or history.finalists:
        return False
    bars = Ranking(ranks=tuple(rank for rank in _by_fitness(run).ranks if rank.candidate_id in history.baselines))
    doubt = budget_doubt(history, bars)
    hint = "; `--auto-steps` trains with as many, `--env-steps` with any number"
    hint = "; there is no time or no steps left to train with as many" if config.auto_steps else hint
    if doubt and config.auto_steps and _has_room(run, doubt.env_steps):
        run.journal.record("steps-raised", env_steps=doubt.env_steps, why=doubt.why)
        return True
    run.journal.record("steps-doubted", why=doubt.why + hint if doubt else "")
    return False


def _has_room(run: Context, env_steps: int) -> bool:
    """Whether what was done so far can be done again with so many steps, and the finals after it."""
    assert run.history.training is not None
    times = env_steps / run.history.training.env_steps
    spent_s = run.journal.elapsed_s - run.history.began_s
    if run.remaining_s is not None and run.remaining_s < times * spent_s:
        return False
    return run.steps_left >= times * (run.history.spent_steps + run.final_steps)


def _plan(run: Context, generation: int) -> tuple[Slot, ...]:
    """The slots of a generation: planned once, for what was learned later would plan others."""
    if generation == len(run.history.generations):
        records = run.records(before=generation)
        slots = run.parts.strategy.plan(records, generation)
        slots += tuned_slots(run.config, run.parts.judge, records, generation, len(slots))
        _require_plan(run, slots)
        told = [slot.model_dump(mode="json", exclude_defaults=True) for slot in slots]
        run.journal.record("generation-started", generation=generation, slots=told)
    return run.history.generations[generation].slots


def _require_plan(run: Context, slots: tuple[Slot, ...]) -> None:
    """Raises for what a strategy cannot plan, before it is written down."""
    known, ids = set(run.history.ids()), [slot.candidate_id for slot in slots]
    wrong = "no candidate" if not slots else ""
    if again := [id for id in ids if ids.count(id) > 1 or id in known]:
        wrong = f"`{again[0]}` twice"
    for slot in slots:
        if lacking := [id for id in slot.parents if id not in known]:
            wrong = f"`{slot.candidate_id}` from `{lacking[0]}`, which there is not"
        elif slot.operator != "draft" and not slot.parents:
            wrong = f"`{slot.candidate_id}` by `{slot.operator}` without a parent"
    if wrong:
        what = f"the strategy `{run.config.strategy}` plans {wrong}"
        raise UsageError(what, "see `Strategy.plan` and `slot_id` in rewardgen/search/strategy.py")


def _finish(run: Context, generation: int) -> None:
    if not run.history.generations[generation].finished:
        ranking = run.parts.judge.rank(run.records())
        run.journal.record("generation-finished", generation=generation, ranking=ranking.model_dump(mode="json"))
