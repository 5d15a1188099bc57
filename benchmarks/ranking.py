"""`python -m benchmarks ranking`: do short trainings order the rewards of a run as long ones do?

Rewards that a language model wrote in a recorded run are trained with few seeds at the task's budget, with each of some
settings, and with more seeds at a multiple of it. Told is the rank correlation of the fitness.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from benchmarks.curves import last_before
from benchmarks.figures import Figure, Report, Say
from benchmarks.learner import NAMES, SAC, Outcome, settings_named, trained_once
from benchmarks.trainers import slice_name
from rewardgen.api.runs import open_run
from rewardgen.core.errors import UsageError, did_you_mean
from rewardgen.store.records import RewardSpec, SliceSpec
from rewardgen.tasks.draft.sketches import spearman

_FEWER = 4
"""SAC trains for as many times fewer control steps: each takes it many times as long."""


class RankingOptions(NamedTuple):
    """Options of the measurement.

    Attributes:
        settings: Names among `benchmarks.learner.NAMES`; the first one's long training is the truth.
        rewards: Rewards of each run at most, the first that were trained.
        seeds: Seeds of a short training.
        long_seeds: Seeds of the long one.
        steps: Control steps of a short training; the task's own if None.
        times: Control steps of the long one, in those of a short one.
        folder: Folder of the trainings, which are not repeated.
    """

    settings: tuple[str, ...] = ("task", "dense", "sac")
    rewards: int = 10
    seeds: int = 2
    long_seeds: int = 5
    steps: int | None = None
    times: int = 4
    folder: Path = Path("trainings/ranking")


def bench_ranking(runs: Sequence[str], options: RankingOptions, say: Say) -> Report:
    """Compare the order of each run's rewards after short trainings with that after a long one.

    Args:
        runs: Folders of runs on shipped tasks.
        options: What to measure.
        say: Told what goes on.

    Raises:
        UsageError: No run is named, or there is no such setting.
        RewardgenError: A folder is no run, or its task is unknown.
        WorkerError: A slice failed.
    """
    if not runs:
        raise UsageError("there is no run whose rewards could be ranked", "name folders of recorded runs")
    for name in options.settings:
        if name not in NAMES:
            raise UsageError(f"there are no settings `{name}`", did_you_mean(name, NAMES))
    figures: list[Figure] = []
    for ref in runs:
        run = open_run(ref)
        trained = [each for each in run.candidates if each.result and each.result.by_seed][: options.rewards]
        rewards = [RewardSpec(candidate_id=each.id, source=each.source) for each in trained]
        usual = settings_named("task", run.task, options.steps).env_steps
        steps = {name: usual // _FEWER if name == SAC else usual for name in options.settings}
        long = settings_named(options.settings[0], run.task, options.times * steps[options.settings[0]])
        train = partial(trained_once, options.folder, run.task, rewards=rewards, say=say)
        truth = _by_reward(train(options.settings[0], long, seeds=options.long_seeds), rewards, options.long_seeds)
        short: dict[str, Outcome] = {}
        for name in options.settings:
            short[name] = train(name, settings_named(name, run.task, steps[name]), seeds=options.seeds)
        end = min(outcome.seconds for outcome in short.values())
        for name, outcome in short.items():
            subject = Path(ref).name
            at_end, in_time = (_by_reward(outcome, rewards, options.seeds, until) for until in (None, end))
            figures += [
                Figure(name=f"{name}, at its end", subject=subject, unit="", values=(spearman(at_end, truth),)),
                Figure(name=f"{name}, equal time", subject=subject, unit="", values=(spearman(in_time, truth),)),
                Figure(name=f"time, {name}", subject=subject, unit="s", values=(outcome.seconds,)),
            ]
    return Report(
        bench="ranking",
        settings={
            "rewards": options.rewards,
            "seeds": options.seeds,
            "truth": f"{options.long_seeds} seeds of {options.times} times the steps, {options.settings[0]}",
        },
        figures=tuple(figures),
        notes=("Rank correlation (Spearman) with the long training; equal time is that of the fastest setting.",),
    )


def _by_reward(outcome: Outcome, rewards: Sequence[RewardSpec], seeds: int, until: float | None = None) -> list[float]:
    """Mean fitness over seeds of each reward, at the end or at its last evaluation before a time [s]."""
    final = dict(zip(outcome.curves, outcome.fitness, strict=True))

    def fitness(key: str) -> float:
        return final[key] if until is None else last_before(outcome.curves[key], until)

    slices = {
        each.candidate_id: [slice_name(SliceSpec(candidate_id=each.candidate_id, seed=seed)) for seed in range(seeds)]
        for each in rewards
    }
    return [fmean(fitness(key) for key in keys) for keys in slices.values()]
