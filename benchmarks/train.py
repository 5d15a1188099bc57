"""`python -m benchmarks train`: a generation by our trainer and by Stable-Baselines3, wall clock to a fitness."""

from __future__ import annotations

import statistics
from typing import NamedTuple

from benchmarks.curves import Curves, Point, Times, first_at, mean_curve, one_after_the_other, times_to
from benchmarks.figures import Figure, Report, Say, ratio
from benchmarks.setups import Setup, setup_of
from benchmarks.trainers import task_settings, train_ours, train_sb3
from rewardgen.core.provenance import usable_cores
from rewardgen.store.records import RewardSpec, SliceSpec
from rewardgen.training.ppo.settings import PpoSettings

_RATIO_TARGETS = {"cartpole": 8.0, "hopper": 3.0}
_NOTES = (
    "Time of a generation, in seconds: until every slice has reached the target fitness; one that never does counts its"
    " whole training.",
    "So where Stable-Baselines3 misses the target, the ratio is a lower bound; where ours misses it, there is none.",
    "By the mean: until the mean fitness of the slices has reached it; where seeds spread widely, some never do.",
    "Both are evaluated as often, on the same number of episodes, and the time of evaluations counts for both.",
)


class TrainOptions(NamedTuple):
    """Options of the measurement.

    Attributes:
        task: Name of a task with a setup.
        candidates: Candidates of the generation.
        seeds: Seeds of each.
        workers: Processes of either side.
        repetitions: How often, with other seeds each time.
        sb3_slices: How many of the slices Stable-Baselines3 trains; its time is scaled to all. None for all.
        sb3_settings: Names of its settings; the one that is faster counts.
        target: Fitness at which a slice counts as solved; the task's own if None.
        steps: Control steps of each slice of Stable-Baselines3 at most; the setup's if None.
        our_steps: Of each of ours, likewise.
    """

    task: str = "cartpole"
    candidates: int = 8
    seeds: int = 2
    workers: int = usable_cores()
    repetitions: int = 1
    sb3_slices: int | None = None
    sb3_settings: tuple[str, ...] = ("zoo", "default")
    target: float | None = None
    steps: int | None = None
    our_steps: int | None = None

    def quick(self) -> TrainOptions:
        """The same in under a minute: too few steps for Stable-Baselines3, so that the ratio is a lower bound."""
        few = {"candidates": 2, "seeds": 1, "sb3_slices": self.workers, "sb3_settings": ("default",)}
        return self._replace(**few, steps=8192, our_steps=98_304)


def bench_train(options: TrainOptions, say: Say) -> Report:
    """Measure training to a fitness.

    Args:
        options: What to measure.
        say: Told what goes on.

    Raises:
        UsageError: There is no setup for the task.
    """
    setup = setup_of(options.task)
    rounds = [_round(options, setup, task_settings(options.task), number, say) for number in range(options.repetitions)]
    notes = [note for number, each in enumerate(rounds, start=1) for note in each.notes(number)]
    origins = [f"SB3 {name}: {setup.sb3[name].origin}." for name in options.sb3_settings]
    return Report(
        bench="train",
        settings=_settings(options),
        figures=tuple(_figures(options, rounds)),
        notes=(*_NOTES, *origins, *notes),
    )


class _Round(NamedTuple):
    """One repetition.

    Attributes:
        target: The fitness to reach.
        ours: When our slices reached it, all from the same beginning.
        theirs: Name of the settings to when the slices of Stable-Baselines3 reached it, each from its own beginning.
        slices: Slices in all.
        workers: Processes.
        our_mean: The mean of our slices over time.
        their_means: Likewise, for settings whose slices were trained to the end.
    """

    target: float
    ours: Times
    theirs: dict[str, Times]
    slices: int
    workers: int
    our_mean: list[Point]
    their_means: dict[str, list[Point]]

    @property
    def our_seconds(self) -> float:
        """Wall clock of the generation."""
        return max(self.ours.seconds.values())

    def their_seconds(self, name: str) -> float:
        """Wall clock of the generation with these settings."""
        return one_after_the_other(list(self.theirs[name].seconds.values()), self.slices, self.workers)

    @property
    def our_seconds_by_mean(self) -> float | None:
        """Wall clock until the mean of our slices has reached the target; None if it has not."""
        return first_at(self.our_mean, self.target)

    @property
    def their_seconds_by_mean(self) -> float:
        """The same of Stable-Baselines3, with the settings that reach it sooner."""
        found = [first_at(curve, self.target) for curve in self.their_means.values()]
        return one_after_the_other([min(each for each in found if each is not None)], self.slices, self.workers)

    @property
    def best(self) -> str:
        """The settings that are faster; first of all those that miss the target less often."""
        return min(self.theirs, key=lambda name: (len(self.theirs[name].missed), self.their_seconds(name)))

    def notes(self, number: int) -> list[str]:
        """Misses and shortcuts, to be told."""
        found = []
        for name, times in {"ours": self.ours, **{f"SB3 {name}": each for name, each in self.theirs.items()}}.items():
            if times.missed:
                found.append(f"repetition {number}: {name} missed the target with {', '.join(times.missed)}")
            if len(times.seconds) < self.slices:
                share = f"{len(times.seconds)} of {self.slices}"
                found.append(f"repetition {number}: {name} trained {share} slices, its time is scaled to all of them")
        if self.their_means and self.our_seconds_by_mean is None:
            found.append(f"repetition {number}: the mean of our slices missed the target")
        return found


def _round(options: TrainOptions, setup: Setup, settings: PpoSettings, number: int, say: Say) -> _Round:
    rewards = setup.rewards(options.candidates)
    seeds = range(1000 * number, 1000 * number + options.seeds)
    slices = [SliceSpec(candidate_id=each.candidate_id, seed=seed) for each in rewards for seed in seeds]
    target = options.target if options.target is not None else setup.target
    theirs: dict[str, Curves] = {}
    means: dict[str, list[Point]] = {}
    if target is None:
        theirs = _theirs(options, setup, settings, rewards, slices, None, say)
        means = {name: mean_curve(curves, statistics.mean) for name, curves in theirs.items()}
        target = max(curve[-1].fitness for curve in means.values())
    say(f"ours: {len(slices)} slices to fitness {target:.3g}")
    ours = train_ours(
        options.task, _our_settings(options, setup, settings), rewards, slices, options.workers, target=target
    )
    theirs = theirs or _theirs(options, setup, settings, rewards, slices, target, say)
    return _Round(
        target,
        times_to(ours.curves, target, budget_s=ours.seconds),
        {name: times_to(curves, target) for name, curves in theirs.items()},
        len(slices),
        options.workers,
        mean_curve(ours.curves, max),
        means,
    )


def _our_settings(options: TrainOptions, setup: Setup, settings: PpoSettings) -> PpoSettings:
    steps = options.our_steps or setup.our_steps
    phases = max(1, steps // setup.evaluate_every)
    return settings.model_copy(update={"env_steps": steps, "evaluation_phases": phases})


def _theirs(
    options: TrainOptions,
    setup: Setup,
    settings: PpoSettings,
    rewards: list[RewardSpec],
    slices: list[SliceSpec],
    target: float | None,
    say: Say,
) -> dict[str, Curves]:
    """Name of the settings to the curves of some of the slices, evenly picked."""
    number = min(len(slices), options.sb3_slices or len(slices))
    picked = [slices[index * len(slices) // number] for index in range(number)]
    found: dict[str, Curves] = {}
    for name in options.sb3_settings:
        say(f"Stable-Baselines3, {name} settings: {number} slices")
        found[name] = train_sb3(
            options.task,
            setup.sb3[name],
            rewards,
            picked,
            options.workers,
            steps=options.steps or setup.steps,
            evaluate_every=setup.evaluate_every,
            episodes=settings.evaluation_envs,
            target=target,
        )
    return found


def _figures(options: TrainOptions, rounds: list[_Round]) -> list[Figure]:
    ours = [each.our_seconds for each in rounds]
    best = [each.their_seconds(each.best) for each in rounds]
    figures = [
        _figure(options, "target fitness", "", [each.target for each in rounds]),
        _figure(options, "ours", "s", ours),
        *(
            _figure(options, f"SB3 {name}", "s", [each.their_seconds(name) for each in rounds])
            for name in options.sb3_settings
        ),
    ]
    if not any(each.their_means for each in rounds):
        return [*figures, *_ratio_of_all(options, rounds, best, ours, _target(options))]
    return [*figures, *_ratio_of_all(options, rounds, best, ours, None), *_figures_by_mean(options, rounds)]


def _ratio_of_all(
    options: TrainOptions, rounds: list[_Round], theirs: list[float], ours: list[float], target: float | None
) -> list[Figure]:
    """The ratio of the times to every slice's target; none if one of ours missed it: its time is only a budget."""
    if any(each.ours.missed for each in rounds):
        return []
    return [ratio("SB3 / ours", options.task, theirs, ours, target)]


def _figures_by_mean(options: TrainOptions, rounds: list[_Round]) -> list[Figure]:
    """For targets that Stable-Baselines3 set itself, which not every slice of either side has to reach."""
    pairs = [(each.our_seconds_by_mean, each.their_seconds_by_mean) for each in rounds]
    reached = [(ours, theirs) for ours, theirs in pairs if ours is not None]
    if not reached:
        return []
    ours, theirs = [pair[0] for pair in reached], [pair[1] for pair in reached]
    return [
        _figure(options, "ours, by the mean", "s", ours),
        _figure(options, "SB3, by the mean", "s", theirs),
        ratio("SB3 / ours, by the mean", options.task, theirs, ours, _target(options)),
    ]


def _figure(options: TrainOptions, name: str, unit: str, values: list[float]) -> Figure:
    return Figure(name=name, subject=options.task, unit=unit, values=tuple(values))


def _target(options: TrainOptions) -> float | None:
    whole = (options.candidates, options.seeds) == (8, 2)
    return _RATIO_TARGETS.get(options.task) if whole else None


def _settings(options: TrainOptions) -> dict[str, str | int | float | bool]:
    given = {**options._asdict(), "sb3_settings": " ".join(options.sb3_settings)}
    return {name: value for name, value in given.items() if value is not None}
