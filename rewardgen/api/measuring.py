"""Measure trained policies on fresh episodes: `rewardgen.evaluate`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rewardgen.api.display import data_frame, table_html
from rewardgen.api.targets import Named, referred, require_whole, setup_of
from rewardgen.core.errors import UsageError
from rewardgen.core.formatting import number
from rewardgen.core.statistics import Interval, bootstrap_interval, mean_interval, proportion_interval
from rewardgen.film.film import Film, plan_of
from rewardgen.film.film_index import films_folder
from rewardgen.film.shooting import require_trust, shoot
from rewardgen.sandbox.folders import scratch_folder
from rewardgen.store.history import Phase
from rewardgen.store.measurements import STARTS
from rewardgen.store.records import SliceResult
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR, RunFolder
from rewardgen.tasks.fingerprint import changed
from rewardgen.training.measuring import measured_policies
from rewardgen.training.result_validation import PolicyMeasurement
from rewardgen.view.reference import Reference

MOST_EPISODES = 1000
"""Of each policy."""


class Measurement(NamedTuple):
    """One policy, measured anew."""

    seed: int
    """That it was trained with."""
    fitness: Interval | None
    """Mean over the episodes; None if it could not be measured."""
    success: Interval | None
    before: float | None
    """What the run measured of this policy."""
    problem: str = ""
    """Why it could not be measured."""


class Evaluated:
    """The policies of one reward, measured anew.

    Args:
        id: Whose they are.
        phase: In which they were trained.
        episodes: Of each.
        policies: What each reached.
        films: Of one of them, if it was filmed.
        task_changed: Files of the task that are no longer what they were in the run: it measures by other rules.
    """

    def __init__(
        self,
        id: str,
        phase: Phase,
        episodes: int,
        policies: Sequence[Measurement],
        films: Sequence[Film] = (),
        task_changed: Sequence[Path] = (),
    ) -> None:
        self.id, self.phase, self.episodes = id, phase, episodes
        self.policies, self.films, self.task_changed = tuple(policies), tuple(films), tuple(task_changed)

    @property
    def fitness(self) -> Interval | None:
        """Interquartile mean over the policies with a 95 % interval; None if one could not be measured."""
        values = [each.fitness.value for each in self.policies if each.fitness]
        return bootstrap_interval(values) if len(values) == len(self.policies) else None

    @property
    def success(self) -> Interval | None:
        """Success rate over the policies with a 95 % interval; likewise."""
        rates = [each.success.value for each in self.policies if each.success]
        return proportion_interval(rates, self.episodes) if len(rates) == len(self.policies) else None

    def rows(self) -> list[dict[str, Any]]:
        """What each policy reached."""
        return [
            {
                "seed": each.seed,
                **_bounds("fitness", each.fitness),
                **_bounds("success", each.success),
                "in_the_run": each.before,
                "problem": each.problem,
            }
            for each in self.policies
        ]

    def table(self) -> Any:
        """The rows as a pandas DataFrame; where pandas is not installed, as they are."""
        return data_frame(self.rows(), "seed")

    def __repr__(self) -> str:
        told = f"fitness {number(self.fitness.value)}" if self.fitness else "not measured"
        return f"<policies of {self.id}, {len(self.policies)} measured anew: {told}>"

    def _repr_html_(self) -> str:
        return table_html(self.rows())


def evaluate(
    target: Named = "latest",
    *,
    episodes: int = 100,
    seed: int = 1,
    film: bool = False,
    workers: int | None = None,
    runs_dir: str | Path = DEFAULT_RUNS_DIR,
    agreed: bool = False,
) -> Evaluated:
    """Measure the stored policies of a reward in fresh episodes, in processes that load no generated code.

    Args:
        target: A run, whose chosen reward is meant; `RUN:CANDIDATE`; or a `Run` or `Candidate`. Its policies are those
            of the fresh seeds, else those of the search.
        episodes: Of each policy, 1000 at most.
        seed: Of their starts; with 0 they are those of the run.
        film: Whether to film the policy with the middle fitness.
        workers: Processes; the CPU cores if not given.
        runs_dir: Where the runs are.
        agreed: Whether the task file of a run that you did not start may be run.

    Raises:
        UsageError: It has no policies, or the run is somebody else's and you did not agree.
        RunFolderError: The policy is to be filmed, and the run's `films` is no real folder.
        RewardgenError: The task cannot be simulated.
    """
    require_whole("episodes of each policy", episodes, 1, MOST_EPISODES)
    found = referred(target, Path(runs_dir))
    phase, slices = _trained(found)
    require_trust(found.history, agreed)
    if film:
        films_folder(found.folder)
    with scratch_folder() as scratch:
        setup = setup_of(found.history, scratch, workers)
        paths = {each.spec: [_policy_file(found.folder, phase, each)] for each in slices}
        measured = measured_policies(setup, paths, seed=seed, episodes=episodes)
    policies = [_measurement(each, measured[each.spec]) for each in slices]
    plans = [plan_of(found.folder, found.history, found.candidate)] if film else []
    films = shoot(found.folder, found.history, plans, agreed=agreed) if plans else []
    return Evaluated(found.candidate, phase, episodes, policies, films, changed(found.history.task_files))


def _trained(found: Reference) -> tuple[Phase, list[SliceResult]]:
    """The trainings of a candidate that have left policies, those on fresh seeds if there are some."""
    phases: tuple[Phase, ...] = ("final", "search")
    for phase in phases:
        result = found.history.result(phase, found.candidate)
        if slices := [each for each in result.slices if each.policy] if result else []:
            return phase, slices
    record = found.history.record(found.candidate)
    why = f": {record.outcome}" if record and record.outcome else ""
    raise UsageError(f"{found.candidate} of run {found.folder.id} has no policy{why}", "take another candidate")


def _policy_file(folder: RunFolder, phase: Phase, result: SliceResult) -> Path:
    return folder.policies / phase / str(result.policy)


def _measurement(result: SliceResult, found: PolicyMeasurement) -> Measurement:
    before = _mean([each.fitness for each in result.outcomes[:STARTS]])
    if found.problem or not found.outcomes:
        return Measurement(result.seed, None, None, before, found.problem)
    fitness = mean_interval([each.fitness for each in found.outcomes])
    success = proportion_interval([float(each.success) for each in found.outcomes], 1)
    return Measurement(result.seed, fitness, success, before)


def _bounds(name: str, estimate: Interval | None) -> dict[str, float | None]:
    values = (estimate.value, estimate.low, estimate.high) if estimate else (None, None, None)
    return dict(zip((name, f"{name}_low", f"{name}_high"), values, strict=True))


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
