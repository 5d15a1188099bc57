"""Measure trained policies on fresh episodes: `rewardgen.evaluate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple

from rewardgen.api.display import Table
from rewardgen.api.runs import Run, RunCandidate
from rewardgen.core.asynchrony import run_coroutine
from rewardgen.core.config import RunConfig, checked_config
from rewardgen.core.errors import UsageError
from rewardgen.core.formatting import count, number, tokens
from rewardgen.core.physics import cannot_vary, conditions, parse_ranges
from rewardgen.core.provenance import usable_cores
from rewardgen.core.statistics import Interval, bootstrap_interval, mean_interval, proportion_interval, within_range
from rewardgen.designer.ranges import choose_ranges
from rewardgen.film.film import plan_of
from rewardgen.film.film_index import Film
from rewardgen.film.shooting import require_trust, shoot
from rewardgen.llm.archive import slug
from rewardgen.llm.factory import make_llm
from rewardgen.llm.prompts import using_prompts
from rewardgen.llm.protocol import Note, silent
from rewardgen.sandbox.folders import scratch_folder
from rewardgen.sandbox.process import Limits
from rewardgen.search.assembly import own_prompts_of
from rewardgen.store.history import History, Phase
from rewardgen.store.measurements import STARTS
from rewardgen.store.records import RewardSpec, SliceResult, SliceSpec
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR, EVENTS, RunFolder, TrainingFolder
from rewardgen.store.transfer import TRANSFER, Condition, Transfer, write_transfer
from rewardgen.tasks.fingerprint import changed
from rewardgen.tasks.loading import names_task
from rewardgen.training.cache import get_or_measure
from rewardgen.training.measuring import measured_policies
from rewardgen.training.protocol import TRAINERS, TrainerSetup
from rewardgen.training.result_validation import PolicyMeasurement, TaskNames
from rewardgen.training.retraining import read_training
from rewardgen.training.setup import DEFAULT_TRAINER  # noqa: F401  (it registers the trainers)
from rewardgen.view.reference import Reference, find_reference

MOST_EPISODES = 1000
"""Most episodes per policy."""
Named = str | PathLike[str] | Run | RunCandidate
"""`RUN`, `RUN:CANDIDATE`, or an object of this package."""


class Measurement(NamedTuple):
    """Fresh measurement of one policy; None where it could not be measured, or the task defines no success."""

    seed: int
    """Training seed."""
    fitness: Interval | None
    success: Interval | None
    before: float | None
    """Mean fitness of this policy in the run, whose own figure is a mean with the policy of one evaluation earlier."""
    problem: str = ""
    """Reason for a missing measurement."""


@dataclass(repr=False, eq=False)
class Evaluated(Table):
    """Fresh measurements of the policies of one reward.

    Args:
        id: Candidate id.
        phase: Phase in which the policies were trained.
        episodes: Episodes per policy.
        policies: Measurement of each policy.
        films: Film of the median policy, if one was made.
        task_changed: Task files that changed since the run.
        transfer: Measurements under changed physics, if ranges were given; kept in the run's folder.
        reference: The run and its candidate.
    """

    id: str
    phase: Phase
    episodes: int
    policies: Sequence[Measurement]
    films: Sequence[Film]
    task_changed: Sequence[Path]
    transfer: Transfer | None = None
    reference: Reference | None = None

    @property
    def fitness(self) -> Interval | None:
        """Interquartile mean over the policies with a 95 % interval; None if a policy could not be measured."""
        values = [policy.fitness.value for policy in self.policies if policy.fitness]
        return bootstrap_interval(values) if len(values) == len(self.policies) else None

    @property
    def success(self) -> Interval | None:
        """Success rate over the policies with a 95 % interval; None if a policy could not be measured."""
        rates = [policy.success.value for policy in self.policies if policy.success]
        return proportion_interval(rates, self.episodes) if len(rates) == len(self.policies) else None

    def choose_ranges(self, model: str, *, note: Note = silent, **options: Any) -> Transfer:
        """Let a language model choose the ranges to train with, where the policies keep half of their fitness or more.

        The choice is kept with the measurements, the calls beside them. A call that was answered is not made again.

        Args:
            model: A LiteLLM model string, `agent:NAME`, `mailbox:DIR`, or `replay:RUN`.
            note: Receives progress messages.
            **options: Fields of `rewardgen.core.config.RunConfig` for the calls, such as `max_cost` and `api_base`.

        Returns:
            The measurements, with `chosen` ranges and reasons.

        Raises:
            UsageError: No ranges were measured, or the policies earn in none of them.
            RewardgenError: The model did not answer, or chose no usable ranges.
        """
        if not (self.transfer and self.reference):
            raise UsageError("no ranges were measured to choose from", "measure some: `--vary friction=0.5:1.5`")
        history, folder = self.reference.history, self.reference.folder
        place = folder.place_within(TRANSFER, self.id, slug(model)[-60:])  # the name of a call leaves out its model
        config = checked_config({"task": TRANSFER, "model": model, **options}, None)
        llm, goal = make_llm(config, RunFolder(place), note), history.config.goal
        with using_prompts(own_prompts_of(config)):
            chosen = run_coroutine(choose_ranges(llm, history.card, goal, self.transfer, config.temperature))
        note(f"{count(llm.usage().calls, 'call')}, {tokens(llm.usage().tokens)} tokens; kept in {place}")
        self.transfer = self.transfer.model_copy(update={"chosen": chosen, "chosen_by": model})
        write_transfer(folder, self.transfer)
        return self.transfer

    def rows(self) -> list[dict[str, Any]]:
        """Return a row per policy."""
        return [
            {
                "seed": policy.seed,
                **_bounds("fitness", policy.fitness),
                **_bounds("success", policy.success),
                "in_the_run": policy.before,
                "problem": policy.problem,
            }
            for policy in self.policies
        ]

    def __repr__(self) -> str:
        outcome = f"fitness {number(self.fitness.value)}" if self.fitness else "not measured"
        return f"<evaluation of {self.id}, {len(self.policies)} policies: {outcome}>"


def evaluate(
    target: Named = "latest",
    *,
    episodes: int = 100,
    seed: int = 1,
    vary: Sequence[str] = (),
    film: bool = False,
    workers: int | None = None,
    runs_dir: str | Path = DEFAULT_RUNS_DIR,
    agreed: bool = False,
) -> Evaluated:
    """Measure trained policies on fresh episodes, in processes that load no generated code.

    Args:
        target: A run, for its chosen reward; `RUN:CANDIDATE`; a `Run` or a `RunCandidate`; or a result or folder of
            `train`. Policies of the fresh seeds are measured if there are any, else those of the search.
        episodes: Episodes per policy, at most 1000.
        seed: Seed of the episodes; 0 repeats those of the run.
        vary: Ranges of the physics, as `friction=0.5:1.5`. Values of each are measured one at a time, then all ranges
            drawn together; see `RunConfig.randomise` for the parameters.
        film: True to film the policy with the median fitness.
        workers: Worker processes; default: the CPU cores.
        runs_dir: Folder of the runs.
        agreed: True to run the task file of a run that you did not start.

    Raises:
        UsageError: The candidate has no policies, the task has no fitness, or the run is foreign and you did not agree.
        RewardgenError: The task cannot be simulated, or its physics cannot change.
    """
    ranges = parse_ranges(vary)
    require_whole("episodes of each policy", episodes, 1, MOST_EPISODES)
    require_whole("is no seed", seed, 0)
    if workers is not None:
        require_whole("worker processes", workers, 1)
    reference = training_reference(target, agreed) or referred(target, Path(runs_dir))
    phase, slices = _trained(reference)
    folder, history, id = reference.folder, reference.history, reference.candidate
    if not history.has_fitness:
        raise UsageError("the task has no fitness to measure policies by", f"`rewardgen film {folder.word}`")
    require_trust(history, agreed)
    if ranges and not get_or_measure(history.config.task, limits_of(history)).varies:
        raise cannot_vary()
    card, agents = history.card, max(1, len(history.card.agents))
    with scratch_folder() as scratch:
        setup = _setup(history, scratch, workers or usable_cores())
        paths = {result.spec: [folder.policies_of(phase) / result.policy] for result in slices if result.policy}
        spec = RewardSpec(candidate_id=id, source=reference.source)
        rewards, measured = {spec.candidate_id: spec}, {}
        for physics in conditions(ranges):
            here = setup._replace(scratch=scratch / str(len(measured)))
            starts = episodes * agents  # each agent of a game has an episode of its own
            measured[physics] = measured_policies(here, paths, rewards, seed=seed, episodes=starts, physics=physics)
    policies = [_measurement(result, measured[()].get(result.spec), card.best_fitness, agents) for result in slices]
    films = shoot(folder, history, [plan_of(folder, history, id)], agreed=agreed) if film else []
    transfer = None
    if ranges:
        transfer = Transfer(
            candidate=id,
            trained=history.training.settings.get("randomise", ()),
            episodes=episodes,
            seeds=tuple(result.seed for result in slices),
            trivial=max((probe.fitness for probe in card.probes), default=0.0),
            conditions=tuple(_condition(physics, results) for physics, results in measured.items()),
        )
        write_transfer(folder, transfer)
    return Evaluated(id, phase, episodes, policies, films, tuple(changed(history.task_files)), transfer, reference)


def _condition(physics: tuple[str, ...], measured: Mapping[SliceSpec, PolicyMeasurement]) -> Condition:
    fitness = {spec.seed: one.fitness for spec, one in measured.items() if one.fitness is not None}
    success = {spec.seed: one.success_rate for spec, one in measured.items() if one.success_rate is not None}
    return Condition(physics=physics, fitness=fitness, success=success)


def training_reference(target: Named, agreed: bool) -> Reference | None:
    """Return a folder of `train` as a run without a search; None if the target is none."""
    path = None if isinstance(target, Run | RunCandidate) else Path(target)
    if path is None or not (trained := read_training(path)):
        return None
    folder, history, id = TrainingFolder(path.resolve()), History(), trained.reward.candidate_id
    history.run_id, history.signature = trained.digest, trained.signature
    history.config, history.training = RunConfig(task=trained.task), trained.training
    history.task_files, history.baselines = {**trained.task_files}, {id: trained.reward.source}
    history.extra_seeds = {("final", id): tuple(result.seed for result in trained.results)}
    history.trained = {("final", id, result.seed): result for result in trained.results}
    require_trust(history, agreed)
    history.card = get_or_measure(trained.task, limits_of(history)).card
    return Reference(folder, history, id)


def _setup(history: History, scratch: Path, workers: int) -> TrainerSetup:
    config, training, card = history.config, history.training, history.card
    settings, names = TRAINERS.get(training.trainer).recorded(training.settings), TaskNames.of(card)
    return TrainerSetup(config.task, settings, workers, scratch=scratch, limits=limits_of(history), names=names)


def _trained(reference: Reference) -> tuple[Phase, list[SliceResult]]:
    """Return a candidate's results, preferably from the fresh seeds of the finals or of earlier ones.

    A seed that failed is one of them: the others alone would be a selection.
    """
    history, id = reference.history, reference.candidate
    final, search = (history.result(phase, id) for phase in ("final", "search"))
    used = [seed for seeds, _ in history.earlier_finals for seed in seeds]
    earlier = [history.trained["final", id, seed] for seed in used if ("final", id, seed) in history.trained]
    choices: list[tuple[Phase, Sequence[SliceResult]]] = [
        ("final", final.slices if final else earlier),
        ("search", search.slices if search else ()),
    ]
    for phase, found in choices:
        if any(slice.policy for slice in found):
            return phase, [*found]
    record = history.record(id)
    why = f": {record.outcome}" if record and record.outcome else ""
    raise UsageError(f"{reference.candidate} of run {reference.folder.id} has no policy{why}", "name another candidate")


def _measurement(
    result: SliceResult, measured: PolicyMeasurement | None, best_fitness: float | None, agents: int
) -> Measurement:
    values = [outcome.fitness for outcome in result.outcomes[:STARTS]]
    before = sum(values) / len(values) if values else None
    if measured is None:
        why = f"its training failed: {result.failure.message}" if result.failure else "it has no policy"
        return Measurement(result.seed, None, None, before, why)
    if measured.problem or not measured.outcomes:
        return Measurement(result.seed, None, None, before, measured.problem)
    games = [measured.outcomes[first : first + agents] for first in range(0, len(measured.outcomes), agents)]
    fresh = [sum(outcome.fitness for outcome in game) / len(game) for game in games]
    fitness = within_range(mean_interval(fresh), best_fitness, fresh)
    successes = [sum(outcome.success for outcome in game) / len(game) for game in games]
    success = None if measured.success_rate is None else proportion_interval(successes, 1)
    return Measurement(result.seed, fitness, success, before)


def _bounds(name: str, estimate: Interval | None) -> dict[str, float | None]:
    values = (estimate.value, estimate.low, estimate.high) if estimate else (None, None, None)
    return dict(zip((name, f"{name}_low", f"{name}_high"), values, strict=True))


def require_whole(noun: str, value: object, least: int, most: int | None = None) -> None:
    """Reject anything but a whole number within limits; `noun` names the counted things."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least or (most and value > most):
        limits = f"between {least} and {most}" if most else f"at least {least}"
        raise UsageError(f"{value} {noun}", f"give a whole number, {limits}")


def is_task(named: Named) -> bool:
    """Return True if the name is a task's, not a run's."""
    if isinstance(named, Run | RunCandidate) or (Path(named) / EVENTS).is_file():
        return False
    return names_task(fspath(named))


def referred(named: Named, runs_dir: Path) -> Reference:
    """Resolve a run, and the candidate, if one is named."""
    if isinstance(named, RunCandidate):
        return Reference(named.folder, named.history, named.id)
    if isinstance(named, Run):
        return Reference(named.folder, named.history)
    return find_reference(fspath(named), runs_dir)


def limits_of(history: History) -> Limits:
    """Return the worker limits of a run."""
    return Limits(wall_s=history.config.slice_timeout_s, sandbox=history.sandbox)
