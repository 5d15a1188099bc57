"""`rewardgen.evaluate` and `rewardgen.rescore`: stored policies measured anew, by fresh episodes or another task."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from rewardgen.api.display import data_frame, table_html
from rewardgen.api.targets import Named, referred, require_whole, setup_of
from rewardgen.core.errors import RewardgenError, UsageError
from rewardgen.core.formatting import number
from rewardgen.core.statistics import Interval, bootstrap_interval, mean_interval, proportion_interval
from rewardgen.film.film import Film, plan_of
from rewardgen.film.film_index import films_folder
from rewardgen.film.shooting import require_trust, shoot
from rewardgen.sandbox.folders import scratch_folder
from rewardgen.search.judge import FitnessJudge
from rewardgen.store.history import History, Phase
from rewardgen.store.measurements import STARTS
from rewardgen.store.ranking import Ranking, leads
from rewardgen.store.records import CandidateRecord, CandidateResult, SliceResult, SliceSpec
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR, RunFolder
from rewardgen.tasks.fingerprint import changed
from rewardgen.tasks.loading import lasting_reference
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


class Rescored:
    """The candidates of a run ranked by another task: `rescore`.

    Args:
        task: The other task.
        before: The ranking by the run's own.
        after: The ranking by the other.
        success: Candidate to its success rate by the other.
    """

    def __init__(self, task: str, before: Ranking, after: Ranking, success: dict[str, float]) -> None:
        self.task, self.before, self.after, self._success = task, before, after, success

    def rows(self) -> list[dict[str, Any]]:
        """The candidates, best by the other task first."""
        return [
            {
                "id": rank.candidate_id,
                "rank": place,
                "rank_before": self.before.ids.index(rank.candidate_id) + 1,
                "fitness": rank.estimate,
                "standard_error": rank.standard_error,
                "success": self._success[rank.candidate_id],
                "fitness_before": before.estimate if (before := self.before.rank(rank.candidate_id)) else None,
            }
            for place, rank in enumerate(self.after.ranks, start=1)
        ]

    def table(self) -> Any:
        """The rows as a pandas DataFrame; where pandas is not installed, as they are."""
        return data_frame(self.rows(), "id")

    @property
    def conclusion(self) -> str:
        """How the ranking changes, in words."""
        was, now, name = self.before.ids, self.after.ids, Path(self.task).stem
        if now[0] == was[0]:
            text = f"By {name}, {now[0]} is the best, as before."
        else:
            text = f"By {name}, {now[0]} is the best, which was number {was.index(now[0]) + 1}; {was[0]}, the best"
            text += f" before, is number {now.index(was[0]) + 1}."
        pairs = list(combinations(now, 2))
        turned = [pair for pair in pairs if was.index(pair[0]) > was.index(pair[1])]
        sure = [pair for pair in turned if self._leads(*pair)]
        if not turned:
            return f"{text} No two candidates change their order."
        return f"{text} {len(turned)} of {len(pairs)} pairs change their order, {len(sure)} by more than noise."

    def _leads(self, one: str, other: str) -> bool:
        first, second = self.after.rank(one), self.after.rank(other)
        return first is not None and second is not None and leads(first, second)

    def _repr_html_(self) -> str:
        return table_html(self.rows())


def rescore(
    run: Named,
    task: str | Path,
    *,
    workers: int | None = None,
    runs_dir: str | Path = DEFAULT_RUNS_DIR,
) -> Rescored:
    """Measure all stored policies of a run's search by another task, and rank the candidates by that.

    The policies are those at the end of the trainings, in the same starts before and after. Nothing is trained: what
    would have come of a search that was ranked by this task is another question. Of the run's folder, nothing is run.

    Args:
        run: The run.
        task: A task with the same observation and action: name of a shipped one, or the path of its file.
        workers: Processes; the CPU cores if not given.
        runs_dir: Where the runs are.

    Raises:
        UsageError: The run has no policies, or they cannot act on this task.
        RewardgenError: The task cannot be simulated.
    """
    found = referred(run, Path(runs_dir))
    reference = lasting_reference(str(task))
    results = _search_results(found.history)
    if not results:
        raise UsageError(f"run {found.folder.id} has no policies", "take another run")
    with scratch_folder() as scratch:
        setup = setup_of(found.history, scratch, workers, reference)
        slices = [each for result in results.values() for each in result.slices]
        paths = {each.spec: [_policy_file(found.folder, "search", each)] for each in slices}
        measured = measured_policies(setup, paths)
    _require_measured(measured, task)
    before = {id: _with_fitness(result, {}) for id, result in results.items()}
    after = {id: _with_fitness(result, measured) for id, result in results.items()}
    known = {id: each for id, each in after.items() if each.fitness is not None}
    success = {id: _mean([float(one.success) for each in known[id].slices for one in each.outcomes]) for id in known}
    return Rescored(
        reference,
        _ranking(found.history, {id: before[id] for id in known}),
        _ranking(found.history, known),
        {id: rate or 0.0 for id, rate in success.items()},
    )


def _search_results(history: History) -> dict[str, CandidateResult]:
    """The candidates and the task's own rewards of which every training has left a policy."""
    results = {id: history.result("search", id) for id in (*history.ids(), *history.baselines)}
    return {id: each for id, each in results.items() if each and all(one.policy for one in each.slices)}


def _require_measured(measured: dict[SliceSpec, PolicyMeasurement], task: str | Path) -> None:
    problems = [each.problem for each in measured.values() if each.problem]
    if len(problems) == len(measured):
        raise UsageError(
            f"no policy of the run can be measured by {task}: {problems[0]}",
            "give a task with the same observation and action, of which only the fitness and success differ",
        )


def _with_fitness(result: CandidateResult, measured: dict[SliceSpec, PolicyMeasurement]) -> CandidateResult:
    """The fitness of the final policies alone; another's measurement in place of the run's where there is one."""
    slices = []
    for each in result.slices:
        found = measured.get(each.spec)
        outcomes = found.outcomes[:STARTS] if found else () if measured else each.outcomes[:STARTS]
        update = {"final_fitness": _mean([one.fitness for one in outcomes]), "outcomes": outcomes}
        slices.append(each.model_copy(update=update))
    return result.model_copy(update={"slices": tuple(slices)})


def _ranking(history: History, results: dict[str, CandidateResult]) -> Ranking:
    records: list[CandidateRecord] = []
    for id, result in results.items():
        record = history.record(id) or history.baseline_record(id)
        if record is None:
            raise RewardgenError(f"there is no record of {id}")
        records.append(record.model_copy(update={"result": result}))
    return FitnessJudge().rank(records)


def _bounds(name: str, estimate: Interval | None) -> dict[str, float | None]:
    values = (estimate.value, estimate.low, estimate.high) if estimate else (None, None, None)
    return dict(zip((name, f"{name}_low", f"{name}_high"), values, strict=True))


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
