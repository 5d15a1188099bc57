"""The race of training settings: a task without its own trains some rewards with each, and the best settings stay.

The rewards are the task's own or, without a human one, the first drafts: where success is rare, a sparse reward alone
learns nothing with any settings. All candidates of a run train with the same, so that they compare.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from rewardgen.core.formatting import count
from rewardgen.search.context import Context
from rewardgen.store.history import Race
from rewardgen.store.records import BASELINES, RewardSpec, SliceResult, SliceSpec, Training
from rewardgen.training.cache import BaselineCache
from rewardgen.training.protocol import TRAINERS, Trainer
from rewardgen.training.setup import learner_notes

_MARGIN = 0.05
"""Share of the fitness by which slower settings must be better."""
RACE_SEEDS = (0, 1)
"""Seeds of each of the task's own rewards: the same in all runs of a task, which so choose the same."""
RACE_DRAFTS = 4
"""First drafts that race at most, with one seed."""


def races_drafts(baselines: Collection[str]) -> bool:
    """True if a task has no human reward to compare settings by."""
    return "human" not in baselines


def race(run: Context, drafts: Mapping[str, str], make_trainer: Callable[[Training], Trainer], scratch: Path) -> None:
    """Train rewards with all settings that race, and record which reach the highest mean fitness.

    `drafts` are the sources of accepted first drafts by candidate; without them the task's own rewards race. Trainings
    go to the cache, so that neither the search nor a resumed run repeats them.
    """
    history = run.history
    sources: Mapping[str, str] = dict([*drafts.items()][:RACE_DRAFTS]) or history.baselines
    seeds = history.search_seeds[:1] if drafts else RACE_SEEDS
    specs = [SliceSpec(candidate_id=id, seed=seed) for id in sources for seed in seeds]
    on = "the first drafts" if drafts else "the task's own rewards"
    results: dict[str, list[SliceResult]] = {}
    for number, (name, training) in enumerate(history.raced.items(), 1):
        place = f"{number} of {len(history.raced)}, {count(len(specs), 'training')}"
        run.journal.listener.note(f"comparing settings on {on}: `{name}`, {place}")
        results[name] = _train(run, specs, sources, make_trainer(training), training, scratch / name)
    reached = {
        name: {result.spec: result.final_fitness for result in trained if result.final_fitness is not None}
        for name, trained in results.items()
    }
    if drafts:  # one that fails is the fault of its code, and time may have been up
        specs = [spec for spec in specs if all(spec in each for each in reached.values() if each)]
    fitness = {
        name: fmean(each[spec] for spec in specs) if specs and all(spec in each for spec in specs) else None
        for name, each in reached.items()
    }
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
    told = {"learner": kind.learner, "learner_notes": notes, "drafts": tuple(sources) if drafts else ()}
    usual = next(iter(history.raced.values()))
    fewer = training.env_steps if training.env_steps < usual.env_steps else 0
    outcome = Race(chosen=chosen, fitness=fitness, env_steps=env_steps, fewer_steps=fewer, **told)
    run.journal.record("settings-chosen", **outcome.model_dump(mode="json"))


def _train(
    run: Context,
    specs: Sequence[SliceSpec],
    sources: Mapping[str, str],
    trainer: Trainer,
    training: Training,
    folder: Path,
) -> list[SliceResult]:
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
            [RewardSpec(candidate_id=id, source=sources[id], is_baseline=id in BASELINES) for id in ids],
            missing,
            folder=folder,
            on_progress=lambda message: None,  # rows of candidates show the search alone
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
