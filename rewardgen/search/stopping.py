"""Stop rules of a search."""

from __future__ import annotations

from rewardgen.core.formatting import number, thousands
from rewardgen.core.statistics import later_mean
from rewardgen.search.context import Context, no_room
from rewardgen.search.judge import FitnessJudge, stalled_generations
from rewardgen.store.ranking import leads
from rewardgen.store.records import CandidateResult

_RISING = 0.1
"""Rise over the later half of a training, relative to the whole rise, above which a curve still rises."""


def stop_reason(run: Context, generation: int) -> str:
    """Return the reason not to start a generation; empty to start it. A started generation is always finished."""
    history = run.history
    if generation < len(history.generations):
        return ""
    if ended := history.stop_reason or history.exhausted:
        return ended
    requested = generation < history.requested_generations  # by the user after seeing results: only limits apply
    if not requested and (reached := _reached(run)):
        return reached
    if fault := history.task_fault:
        return f"no reward can be trained, not even the task's own: {fault}"
    return _limit(run, generation) or ("" if requested else _stall(run))


def _reached(run: Context) -> str:
    target, best = run.config.target_fitness, run.history.best()
    if not run.parts.judge.by_fitness or best is None or best.fitness is None:
        return ""
    if target == "human":
        own = [record for name in run.history.baselines if (record := run.history.baseline_record(name))]
        ranking = run.parts.judge.rank([*run.records(), *own])
        leader, human = ranking.rank(best.candidate.id), ranking.rank("human")
        if leader and human and leads(leader, human):
            return f"{best.candidate.id} beats the human reward by more than noise"
    elif target is not None and best.fitness >= target:
        return f"target fitness {target:g} reached"
    return f"reached the maximum fitness, {number(run.card.best_fitness)}" if run.card.is_best(best.fitness) else ""


def _limit(run: Context, generation: int) -> str:
    if generation >= run.config.generations:
        return "the one generation is done" if generation == 1 else f"all {generation} generations done"
    if run.time_up or not generation:
        return run.time_up
    return no_room(run.config, run.history)


def _stall(run: Context) -> str:
    if not run.parts.strategy.learns:
        return ""
    stalled = stalled_generations(run.records(), run.parts.judge)
    return f"no gain beyond noise for {stalled} generations" if stalled >= run.config.patience else ""


def doubt_steps(run: Context) -> None:
    """Warn after the first generation if the step budget is too small to separate rewards.

    On an acrobot with 250k steps, the best reward of a model, the human and the sparse one ended at 0.23, 0.30 and
    0.23, all of them still rising: no search could separate them.
    """
    history = run.history
    if history.steps_doubt is None and len(history.generations) == 1 and not history.finalists:
        run.journal.record("steps-doubted", why=_too_few_steps(run))


def _too_few_steps(run: Context) -> str:
    """Return a warning if the baselines are within noise of each other and all their curves rise; else empty."""
    history = run.history
    records = [record for name in history.baselines if (record := history.baseline_record(name))]
    ranks = FitnessJudge().rank(records).ranks
    results = [result for name in history.baselines if (result := history.result("search", name))]
    if len(ranks) < 2 or leads(*ranks[:2]) or not all(map(_still_rises, results)):
        return ""
    values = " and ".join(f"{result.candidate_id} {number(result.fitness)}" for result in results)
    return (
        f"{thousands(history.training.env_steps)} steps may be too few to separate rewards: the task's own are within"
        f" noise of each other ({values}) and their curves still rise; raise `--env-steps`"
    )


def _still_rises(result: CandidateResult) -> bool:
    curves = [[point.fitness for point in run.curve] for run in result.slices]
    curve = [sum(values) / len(values) for values in zip(*curves, strict=False)] or [0.0]
    end = later_mean(curve[-3:]) or curve[-1]
    middle = curve[len(curve) // 2 - 1] if len(curve) > 1 else curve[0]
    return end - middle > _RISING * max(end - curve[0], 1e-9)
