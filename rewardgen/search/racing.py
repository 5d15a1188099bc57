"""The race of training settings: a task without its own trains its own rewards with each, and the best ones stay.

All candidates of a run train with the same, so that they compare.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from rewardgen.core.formatting import count
from rewardgen.search.context import Context
from rewardgen.store.history import Race
from rewardgen.store.records import RewardSpec, SliceResult, SliceSpec, Training
from rewardgen.training.cache import BaselineCache
from rewardgen.training.protocol import TRAINERS, Trainer
from rewardgen.training.setup import learner_notes

_MARGIN = 0.05
"""Share of the fitness by which slower settings must be better."""
RACE_SEEDS = (0, 1)
"""Seeds of each reward: the same in all runs of a task, which so choose the same."""


def race(run: Context, make_trainer: Callable[[Training], Trainer], scratch: Path) -> None:
    """Train the task's own rewards with all settings that race, and record which reach the highest mean fitness.

    Trainings go to the cache, so that neither the search nor a resumed run repeats them.
    """
    history = run.history
    specs = [SliceSpec(candidate_id=id, seed=seed) for id in history.baselines for seed in RACE_SEEDS]
    names = " and ".join(f"`{name}`" for name in history.raced)
    number_of = count(len(specs) * len(history.raced), "training")
    run.journal.listener.note(f"comparing the settings {names} on the task's own rewards: {number_of}")
    results = {
        name: _train(run, specs, make_trainer(training), training, scratch / name)
        for name, training in history.raced.items()
    }
    fitness = {name: _mean_fitness(trained, len(specs)) for name, trained in results.items()}
    chosen = _chosen(fitness)
    others = [
        result
        for name, trained in results.items()
        for result in trained
        if name != chosen or result.seed not in history.search_seeds
    ]
    training, env_steps = history.raced[chosen], sum(result.env_steps for result in others)
    kind = TRAINERS.get(training.trainer)
    notes = learner_notes(training.trainer, kind.recorded(training.settings))
    outcome = Race(chosen=chosen, fitness=fitness, env_steps=env_steps, learner=kind.learner, learner_notes=notes)
    run.journal.record("settings-chosen", **outcome.model_dump(mode="json"))


def _train(
    run: Context, specs: Sequence[SliceSpec], trainer: Trainer, training: Training, folder: Path
) -> list[SliceResult]:
    """Return the trainings of the task's own rewards with some settings: those in the cache, and new ones."""
    sources = run.history.baselines
    cache = BaselineCache(run.config.task, run.history.task_files, training)
    cached = {spec: cache.bring(spec, sources[spec.candidate_id], folder) for spec in specs}
    results = [result for result in cached.values() if result]
    missing = [spec for spec, result in cached.items() if not result]

    def keep(result: SliceResult) -> None:
        cache.keep(result, sources[result.candidate_id], folder)
        results.append(result)

    if not missing:
        return results
    with run.time_limit() as cancel:
        ids = dict.fromkeys(spec.candidate_id for spec in missing)
        trainer.train(
            [RewardSpec(candidate_id=id, source=sources[id], is_baseline=True) for id in ids],
            missing,
            folder=folder,
            on_progress=lambda message: None,  # its rewards train once more as part of the search
            on_slice=keep,
            cancel=cancel,
        )
    return results


def _chosen(fitness: Mapping[str, float | None]) -> str:
    """Return the settings that reach more; later ones take longer, so that they have to be better by a margin."""
    first, *others = fitness
    for name in others:
        before, value = fitness[first], fitness[name]
        if value is not None and (before is None or value > before + _MARGIN * abs(before)):
            first = name
    return first


def _mean_fitness(results: Sequence[SliceResult], number_of: int) -> float | None:
    """Return the mean fitness of the trainings; None if one failed or did not end."""
    values = [result.final_fitness for result in results if result.final_fitness is not None]
    return fmean(values) if len(values) == number_of else None
