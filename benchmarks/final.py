"""`python -m benchmarks train --against-sb3-final`: our PPO and Stable-Baselines3's at equal steps."""

from __future__ import annotations

from typing import NamedTuple

from benchmarks.figures import Figure, Report, Say, told
from benchmarks.setups import setup_of
from benchmarks.trainers import task_settings, train_ours, train_sb3
from rewardgen.core.provenance import usable_cores
from rewardgen.core.statistics import bootstrap_interval, difference_interval, standing
from rewardgen.store.measurements import STARTS
from rewardgen.store.records import SliceSpec

_PHASES = 8
"""Evaluations of a training; the last two make up the final fitness, on both sides."""


class FinalOptions(NamedTuple):
    """Options of the measurement.

    Attributes:
        task: Name of a task with a setup.
        seeds: Seeds of either side.
        workers: Processes of either side.
        steps: Control steps of each seed; the task's own if None.
        sb3_settings: Names of the settings of Stable-Baselines3.
    """

    task: str = "cartpole"
    seeds: int = 5
    workers: int = usable_cores()
    steps: int | None = None
    sb3_settings: tuple[str, ...] = ("zoo", "default")

    def quick(self) -> FinalOptions:
        """The same in under a minute; nothing has learned much by then."""
        return self._replace(seeds=2, steps=16_384, sb3_settings=("default",))


def bench_final(options: FinalOptions, say: Say) -> Report:
    """Compare final fitness.

    Args:
        options: What to measure.
        say: Told what goes on.

    Raises:
        UsageError: There is no setup for the task.
        WorkerError: One of our slices failed.
    """
    steps = options.steps or setup_of(options.task).steps
    say(f"ours: {options.seeds} seeds of {steps} steps")
    found = {"ours": _ours(options, steps)}
    for name in options.sb3_settings:
        say(f"Stable-Baselines3, {name} settings: {options.seeds} seeds of {steps} steps")
        found[f"SB3 {name}"] = _theirs(options, name, steps)
    intervals = {name: bootstrap_interval(values) for name, values in found.items()}
    others = {name: values for name, values in found.items() if name != "ours"}
    differences = {f"ours - {name}": difference_interval(found["ours"], values) for name, values in others.items()}
    notes = [told(name, each) for name, each in {**intervals, **differences}.items()]
    notes += [
        f"Ours is {standing(found['ours'], values)} {name}.".replace("on par", "on par with")
        for name, values in others.items()
    ]
    return Report(
        bench="train",
        settings={**options._asdict(), "steps": steps, "sb3_settings": " ".join(options.sb3_settings)},
        figures=tuple(
            Figure(name=f"final fitness, {name}", subject=options.task, unit="", values=tuple(values))
            for name, values in found.items()
        ),
        notes=("Fitness of each seed; the lines below are interquartile means with 95 % intervals.", *notes),
        intervals={**intervals, **differences},
    )


def _ours(options: FinalOptions, steps: int) -> list[float]:
    settings = task_settings(options.task).model_copy(update={"env_steps": steps, "evaluation_phases": _PHASES})
    rewards = setup_of(options.task).rewards(1)
    results = train_ours(options.task, settings, rewards, _slices(options), options.workers).results
    return [each.final_fitness for each in results if each.final_fitness is not None]


def _theirs(options: FinalOptions, name: str, steps: int) -> list[float]:
    setup = setup_of(options.task)
    sizes = {"steps": steps, "evaluate_every": steps // _PHASES, "episodes": STARTS}
    curves = train_sb3(options.task, setup.sb3[name], setup.rewards(1), _slices(options), options.workers, **sizes)
    return [sum(point.fitness for point in points[-2:]) / len(points[-2:]) for points in curves.values()]


def _slices(options: FinalOptions) -> list[SliceSpec]:
    return [SliceSpec(candidate_id="c0", seed=seed) for seed in range(options.seeds)]
