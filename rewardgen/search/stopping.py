"""Stop rules of a search: one function per rule, in the order of checking."""

from __future__ import annotations

from rewardgen.core.formatting import number, thousands
from rewardgen.core.statistics import later_mean
from rewardgen.search.context import Context
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
    requested = generation < history.requested_generations  # by the user after seeing results: only limits apply
    rules = _LIMITS if requested else _ALL_RULES
    return next((reason for rule in rules if (reason := rule(run, generation))), "")


def _ended(run: Context, generation: int) -> str:
    return run.history.stop_reason or run.history.exhausted


def _target(run: Context, generation: int) -> str:
    target, best = run.config.target_fitness, run.history.best()
    if not run.parts.judge.by_fitness or best is None or best.fitness is None or target is None:
        return ""
    if target == "human":
        ranking = run.rank_with_baselines()
        leader, human = ranking.rank(best.candidate.id), ranking.rank("human")
        beaten = leader is not None and human is not None and leads(leader, human)
        return f"{best.candidate.id} beats the human reward by more than noise" if beaten else ""
    return f"target fitness {target:g} reached" if best.fitness >= target else ""


def _perfect(run: Context, generation: int) -> str:
    best = run.history.best()
    reached = run.parts.judge.by_fitness and best is not None and run.card.is_best(best.fitness)
    return f"reached the maximum fitness, {number(run.card.best_fitness)}" if reached else ""


def _nothing_trains(run: Context, generation: int) -> str:
    fault = run.history.task_fault
    return f"no reward can be trained, not even the task's own: {fault}" if fault else ""


def _limit(run: Context, generation: int) -> str:
    config, training = run.config, run.history.training
    if generation >= config.generations:
        return "the one generation is done" if generation == 1 else f"all {generation} generations done"
    if run.time_up or not generation:
        return run.time_up
    assert training is not None
    steps = config.candidates * config.seeds * training.env_steps
    if run.steps_left < steps + run.final_steps:
        return f"the limit of {config.max_steps or 0:,} steps has no room for another generation and the finals"
    return ""


def _stall(run: Context, generation: int) -> str:
    if not run.parts.strategy.learns:
        return ""
    stalled = stalled_generations(run.records(), run.parts.judge)
    return f"no gain beyond noise for {stalled} generations" if stalled >= run.config.patience else ""


_LIMITS = (_ended, _nothing_trains, _limit)
_ALL_RULES = (_ended, _target, _perfect, _nothing_trains, _limit, _stall)


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
    assert history.training is not None
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
