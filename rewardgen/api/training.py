"""Train a reward outside a search: `rewardgen.train`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rewardgen.api.display import Table
from rewardgen.api.measuring import Named, is_task, limits_of, referred, require_whole
from rewardgen.api.reward import Reward, reward_source
from rewardgen.core.config import Bonus, Device, RunConfig
from rewardgen.core.errors import TaskError, UsageError
from rewardgen.core.formatting import number
from rewardgen.core.provenance import usable_cores
from rewardgen.core.schema import validated
from rewardgen.core.statistics import Interval, bootstrap_interval, proportion_interval
from rewardgen.film.shooting import require_trust
from rewardgen.search.lifecycle import SEEDS_PER_RUN
from rewardgen.store.measurements import starts_of
from rewardgen.store.names import is_candidate_id
from rewardgen.store.records import BASELINES, CandidateResult, RewardSpec, SliceResult, Training
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR, EVENTS, list_runs
from rewardgen.tasks.fingerprint import changed
from rewardgen.tasks.loading import lasting_reference, nearest_task
from rewardgen.training.cache import get_or_measure
from rewardgen.training.protocol import OnProgress
from rewardgen.training.retraining import RewardTraining, train_reward
from rewardgen.training.setup import card_for, randomised, settings_for, trainer_of
from rewardgen.ui.console import training_line
from rewardgen.view.reference import Reference

if TYPE_CHECKING:
    from rewardgen.api.environment import TrainedPolicy

TRAININGS = "trainings"
"""Folder of trainings, in a run or in the working folder."""
LEAST_STEPS = 1000
"""Fewest control steps of a training."""
_UNUSED = 9_000
"""First of a run's seeds that neither search nor finals use."""


class TrainedReward(Table):
    """A reward and the policies trained on it; `train` returns one.

    Args:
        path: Folder with `training.json`, `reward.py`, `curves.csv`, and a policy per seed.
        plan: The reward and what its training depended on.
        results: Training results, one per seed.
        notes: Sentences that warn against comparing the results.
    """

    def __init__(self, path: Path, plan: RewardTraining, results: Sequence[SliceResult], notes: Sequence[str]) -> None:
        self.path = path
        self.id = plan.reward.candidate_id
        self.reward = Reward(plan.reward.source, self.id)
        self.result = CandidateResult(candidate_id=self.id, slices=tuple(results))
        self.notes = tuple(notes)
        self.has_fitness = plan.card.has_fitness
        self._starts = starts_of(plan.card.agents)

    def __fspath__(self) -> str:
        return str(self.path)

    @property
    def fitness(self) -> Interval | None:
        """Interquartile mean over the seeds with a 95 % interval; None if a seed failed or the task has no fitness."""
        values = [*self.result.by_seed.values()]
        return bootstrap_interval(values) if values and self.has_fitness else None

    @property
    def success(self) -> Interval | None:
        """Success rate with a 95 % interval; None if a seed failed."""
        rates = [slice.final_success_rate for slice in self.result.slices if slice.final_success_rate is not None]
        whole = self.fitness and len(rates) == len(self.result.slices)
        return proportion_interval(rates, self._starts) if whole else None

    @property
    def policies(self) -> dict[int, Path]:
        """Seed to policy file."""
        return {slice.seed: self.path / slice.policy for slice in self.result.slices if slice.policy}

    @cached_property
    def policy(self) -> TrainedPolicy | None:
        """The policy with the median fitness; None if all seeds failed."""
        from rewardgen.api.environment import TrainedPolicy  # it brings torch

        typical = self.result.typical
        return TrainedPolicy(self.path / str(typical.policy)) if typical else None

    def rows(self) -> list[dict[str, Any]]:
        """Return a row per seed."""
        return [
            {
                "seed": slice.seed,
                "fitness": slice.final_fitness if self.has_fitness else None,
                "success": slice.final_success_rate,
                "steps": slice.env_steps,
                "failure": f"{slice.failure.kind}: {slice.failure.message}" if slice.failure else "",
            }
            for slice in self.result.slices
        ]

    def curves(self) -> list[dict[str, Any]]:
        """Return a row per evaluation and seed, without what a task without a fitness does not measure."""
        unmeasured = set() if self.has_fitness else {"fitness", "success_rate", "fitness_spread", "return_correlation"}
        return [
            {"seed": slice.seed, **point.model_dump(exclude=unmeasured)}
            for slice in self.result.slices
            for point in slice.curve
        ]

    def __repr__(self) -> str:
        failed = [row["failure"] for row in self.rows() if row["failure"]]
        trained = "trained" if self.result.slices else "not trained"
        outcome = f"fitness {number(self.fitness.value)}" if self.fitness else failed[0] if failed else trained
        return f"<trained reward {self.id}: {outcome}>"


def train(
    target: Named,
    reward: str | Path | Reward | None = None,
    *,
    steps: int | None = None,
    seeds: int = 3,
    first_seed: int | None = None,
    trainer: str | None = None,
    device: Device | Literal["auto"] = "cpu",
    bonus: Bonus | None = None,
    randomise: Sequence[str] = (),
    levels: bool = False,
    folder: str | Path | None = None,
    trainings: str | Path = TRAININGS,
    workers: int | None = None,
    runs_dir: str | Path = DEFAULT_RUNS_DIR,
    agreed: bool = False,
    on_progress: OnProgress = training_line,
) -> TrainedReward:
    """Train a reward with several seeds, in the sandbox and measured as in a run.

    Finished trainings with the same settings are reused: ask for more seeds to add seeds. Results in the folder of a
    run that you did not start are not trusted; name another folder to continue there.

    Args:
        target: A task, for its human reward; or a run, `RUN:CANDIDATE` or a `RunCandidate`, trained as in the run.
        reward: Another reward: the path of a Python file, its text, a `Reward`, `human` or `sparse`.
        steps: Control steps per seed; default: those of the run or the task.
        seeds: Number of seeds.
        first_seed: First seed; default: the first that the run has not used, or 0 for a task.
        trainer: Trainer for a task; default: the first that the task has settings for, or PPO.
        device: Device for a task: see `RunConfig.device`.
        bonus: Exploration bonus for a task: see `RunConfig.bonus`.
        randomise: Ranges of the physics: see `RunConfig.randomise`; default: none for a task, those of the run for its
            reward.
        levels: True to begin at a task's easier levels: see `RunConfig.levels`.
        folder: Folder of the results; default: a new one in `trainings/` of the run, or in `trainings`.
        trainings: Folder of the trainings of tasks.
        workers: Training processes; default: the CPU cores.
        runs_dir: Folder of the runs.
        agreed: True to run the task file of a run that you did not start.
        on_progress: Receives each evaluation; default: print a line.

    Raises:
        UsageError: The reward is unknown or breaks the reward language, an argument has an invalid value, or the run is
            foreign and you did not agree.
        TaskError: The task is unknown or cannot be simulated.
        RunFolderError: A link in the run's folder leads out of the folder.
        RewardgenError: A file cannot be written, or a worker could not be started.
    """
    require_whole("seeds", seeds, 1)
    if steps is not None:
        require_whole("control steps", steps, LEAST_STEPS)
    if first_seed is not None:
        require_whole("is no first seed", first_seed, 0)
    named = {"device": device, "bonus": bonus, "randomise": randomise, "levels": levels, "workers": workers}
    validated(RunConfig, {"task": "", **named}, "`rewardgen.train`", "`help(rewardgen.train)` lists the values")
    run = None if is_task(target) else _run(target, Path(runs_dir))
    if run and (trainer or bonus or levels or device != "cpu"):
        message = "a run's reward is trained with the trainer, bonus, levels and device of the run"
        raise UsageError(message, "name the task and give the reward's file instead")
    if run:
        order, unused, notes = _of_run(run, reward, randomise, agreed)
    else:
        options = {"device": device, "bonus": bonus, "randomise": randomise, "levels": levels}
        order, unused, notes = _of_task(str(target), reward, trainer, **options)
    if steps is not None:
        settings = order.training.settings | {"env_steps": steps}
        order = order._replace(training=order.training.model_copy(update={"settings": settings}))
    order = order._replace(workers=workers or usable_cores())
    name = f"{Path(order.task).stem}-{order.reward.candidate_id}-{order.digest}"
    place = Path(folder) if folder else run.folder.place_within(TRAININGS, name) if run else Path(trainings, name)
    first = unused if first_seed is None else first_seed
    anew = run is not None and not run.history.is_own and place.resolve().is_relative_to(run.folder.path.resolve())

    def told(message: dict[str, Any]) -> None:
        on_progress(message if order.card.has_fitness else {**message, "fitness": None})

    results = train_reward(order, range(first, first + seeds), place, on_progress=told, anew=anew)
    return TrainedReward(place, order, results, notes)


def _run(target: Named, runs_dir: Path) -> Reference:
    """Return the run that a target names; letters within a word of a run's id may be a misspelt task."""
    if isinstance(target, str) and not (Path(target) / EVENTS).is_file():
        is_part = any(f"-{target}-" in f"-{run.id}-" for run in list_runs(runs_dir))
        if not is_part and (close := nearest_task(target)):
            raise TaskError(f"unknown task `{target}`", f"did you mean `{close}`? name a run by whole words of its id")
    return referred(target, runs_dir)


_Order = tuple[RewardTraining, int, list[str]]
"""Training, first seed, and warnings about comparing the result."""


def _of_task(named: str, reward: str | Path | Reward | None, trainer: str | None, **options: Any) -> _Order:
    task = lasting_reference(named)
    measured = get_or_measure(task)
    trainer = trainer or trainer_of(measured)
    settings = settings_for(trainer, measured, **options)
    if reward is None and "human" not in measured.baselines:
        raise TaskError(f"{measured.card.name} has no `human_reward` to train with", "give a reward: `--reward my.py`")
    card_for(trainer, measured, settings)  # raises if the trainer cannot learn the task's actions
    training = Training(trainer=trainer, settings=settings.model_dump(mode="json"))
    spec = _spec("human" if reward is None else reward, measured.baselines)
    return RewardTraining(task, measured.files, measured.card, spec, training), 0, []


def _of_run(reference: Reference, reward: str | Path | Reward | None, randomise: Sequence[str], agreed: bool) -> _Order:
    history = reference.history
    config, training = history.config, history.training
    require_trust(history, agreed)
    if reward is None:
        is_own = reference.candidate in BASELINES
        spec = RewardSpec(candidate_id=reference.candidate, source=reference.reward.source, is_baseline=is_own)
    else:
        spec = _spec(reward, history.baselines)
    if randomise:
        device = training.settings.get("device", "cpu")
        ranges = randomised(training.trainer, get_or_measure(config.task), randomise, device)
        training = training.model_copy(update={"settings": training.settings | {"randomise": ranges}})
    files = changed(history.task_files)
    notes = [f"The task has changed since the run: {', '.join(map(str, files))}."] if files else []
    task_files = get_or_measure(config.task).files if files else history.task_files
    order = RewardTraining(config.task, {**task_files}, history.card, spec, training, limits=limits_of(history))
    return order, config.seed * SEEDS_PER_RUN + _UNUSED, notes


def _spec(reward: str | Path | Reward, baselines: dict[str, str]) -> RewardSpec:
    if isinstance(reward, str) and reward in BASELINES:
        if reward not in baselines:
            raise UsageError(f"the task has no {reward} reward", "give a file with a `compute_reward`")
        return RewardSpec(candidate_id=reward, source=baselines[reward], is_baseline=True)
    text = reward_source(reward)
    name = reward.name if isinstance(reward, Reward) else "reward" if "\n" in str(reward) else Path(reward).stem
    fits = is_candidate_id(name) and name not in BASELINES
    return RewardSpec(candidate_id=name if fits else "reward", source=text)
