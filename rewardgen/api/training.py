"""`rewardgen.train`: a reward trained with seeds of its own, outside a run's search."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rewardgen.api.display import data_frame, table_html
from rewardgen.api.reward import Reward, reward_source
from rewardgen.api.targets import Named, is_task, limits_of, referred, require_whole
from rewardgen.core.config import Device
from rewardgen.core.errors import TaskError, UsageError, nearest
from rewardgen.core.formatting import number
from rewardgen.core.provenance import usable_cores
from rewardgen.core.statistics import Interval, bootstrap_interval, proportion_interval
from rewardgen.film.shooting import require_trust
from rewardgen.search.lifecycle import SEEDS_PER_RUN
from rewardgen.store.measurements import STARTS
from rewardgen.store.names import is_candidate_id
from rewardgen.store.records import BASELINES, CandidateResult, RewardSpec, SliceResult, Training
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR
from rewardgen.tasks.fingerprint import changed
from rewardgen.tasks.loading import lasting_reference, shipped_tasks
from rewardgen.training.cache import get_or_measure
from rewardgen.training.protocol import OnProgress
from rewardgen.training.result_validation import TaskNames
from rewardgen.training.retraining import RewardTraining, train_reward
from rewardgen.training.setup import card_for, settings_for, trainer_of
from rewardgen.ui.console import training_line
from rewardgen.view.reference import Reference

if TYPE_CHECKING:
    from rewardgen.api.policy import TrainedPolicy

TRAININGS = "trainings"
"""Folder, of a run or where the user is, in which trainings are kept."""
_STAMP, _SUFFIX = len("20261231-235959-"), len("-3f2a")
"""Of a run's id, what stands before and after the name of its task."""
LEAST_STEPS = 1000
"""Control steps of a training."""
_UNUSED = 9_000
"""Of the seeds that a run owns, the first that neither its search nor its finals come to."""


class TrainedReward:
    """A reward with the policies that were trained with it, in a folder; `train` makes one.

    Args:
        path: The folder: `training.json`, `reward.py`, `curves.csv`, and a policy for each seed.
        reward: The reward.
        results: Of its trainings, one for each seed.
        notes: What speaks against comparing it, in sentences.
    """

    def __init__(self, path: Path, reward: RewardSpec, results: Sequence[SliceResult], notes: Sequence[str]) -> None:
        self.path = path
        self.id = reward.candidate_id
        self.reward = Reward(reward.source, self.id)
        self.result = CandidateResult(candidate_id=self.id, slices=tuple(results))
        self.notes = tuple(notes)

    @property
    def fitness(self) -> Interval | None:
        """Interquartile mean over the seeds with a 95 % interval; None if a seed failed."""
        values = [*self.result.by_seed.values()]
        return bootstrap_interval(values) if values else None

    @property
    def success(self) -> Interval | None:
        """Success rate with a 95 % interval; likewise."""
        rates = [each.final_success_rate for each in self.result.slices if each.final_success_rate is not None]
        return proportion_interval(rates, STARTS) if self.fitness and len(rates) == len(self.result.slices) else None

    @property
    def policies(self) -> dict[int, Path]:
        """Seed to the file of its policy."""
        return {each.seed: self.path / each.policy for each in self.result.slices if each.policy}

    @cached_property
    def policy(self) -> TrainedPolicy | None:
        """The best of the policies; None if all seeds failed."""
        from rewardgen.api.policy import TrainedPolicy  # it brings torch

        best = self.result.best
        return TrainedPolicy(self.path / str(best.policy)) if best else None

    def rows(self) -> list[dict[str, Any]]:
        """What came of each seed."""
        return [
            {
                "seed": each.seed,
                "fitness": each.final_fitness,
                "success": each.final_success_rate,
                "steps": each.env_steps,
                "failure": f"{each.failure.kind}: {each.failure.message}" if each.failure else "",
            }
            for each in self.result.slices
        ]

    def table(self) -> Any:
        """The rows as a pandas DataFrame; where pandas is not installed, as they are."""
        return data_frame(self.rows(), "seed")

    def curves(self) -> list[dict[str, Any]]:
        """Every evaluation of every training."""
        return [{"seed": each.seed, **point.model_dump()} for each in self.result.slices for point in each.curve]

    def __repr__(self) -> str:
        failed = [row["failure"] for row in self.rows() if row["failure"]]
        told = f"fitness {number(self.fitness.value)}" if self.fitness else failed[0] if failed else "not trained"
        return f"<trained reward {self.id}: {told}>"

    def _repr_html_(self) -> str:
        return table_html(self.rows())


def train(
    target: Named,
    reward: str | Path | Reward | None = None,
    *,
    steps: int | None = None,
    seeds: int = 3,
    first_seed: int | None = None,
    trainer: str | None = None,
    device: Device | Literal["auto"] = "cpu",
    folder: str | Path | None = None,
    trainings: str | Path = TRAININGS,
    workers: int | None = None,
    runs_dir: str | Path = DEFAULT_RUNS_DIR,
    agreed: bool = False,
    on_progress: OnProgress = training_line,
) -> TrainedReward:
    """Train a reward with some seeds, in the sandbox as a run does, and measure the policies as a run does.

    What is there already of exactly the same training is not trained again: to have more seeds, ask again for more.
    What lies in the folder of a run that you did not start counts for nothing: give another folder to go on there.

    Args:
        target: A task, whose human reward is trained; or a run, `RUN:CANDIDATE`, or a `Candidate`, whose reward is
            trained as the run trains it.
        reward: Another reward: the path of a Python file, its text, or a `Reward`; or `human` or `sparse`.
        steps: Control steps of each seed; those of the run, or the task's own setting, if not given.
        seeds: How many.
        first_seed: The first of them; if not given, the first that the run has not used, and 0 for a task.
        trainer: What trains it on a task; if not given, the one that the task has settings for, or PPO.
        device: What simulates and learns on a task: see `RunConfig.device`.
        folder: Where it is kept; if not given, in a folder of its own in `trainings/` of the run, or in `trainings`.
        trainings: Where those of tasks are kept.
        workers: Training processes; the CPU cores if not given.
        runs_dir: Where the runs are.
        agreed: Whether the task file of a run that you did not start may be run.
        on_progress: Told of each evaluation; prints a line if not given.

    Raises:
        UsageError: There is no such reward, it is not written in the reward language, or the run is somebody else's
            and you did not agree.
        TaskError: There is no such task, or it cannot be simulated.
        RunFolderError: A link in the run's folder leads out of it.
        RewardgenError: A file cannot be written, or a worker could not be started.
    """
    require_whole("seeds", seeds, 1)
    if steps is not None:
        require_whole("control steps", steps, LEAST_STEPS)
    run = None if is_task(target) else referred(target, Path(runs_dir))
    if run and isinstance(target, str) and target in run.folder.id[_STAMP:-_SUFFIX]:
        meant = nearest(target, shipped_tasks(), sure=True)
        if meant:  # it fits the run by its task's name alone
            hint = f"did you mean `{meant}`? of a run, give the id: {run.folder.id}"
            raise UsageError(f"there is no task `{target}`", hint)
    if run and (trainer or device != "cpu"):
        raise UsageError(
            "a run's reward is trained as the run does", "name the task and give the reward's file instead"
        )
    wanted, first, notes = _of_run(run, reward, agreed) if run else _of_task(str(target), reward, trainer, device)
    if steps is not None:
        settings = wanted.training.settings | {"env_steps": steps}
        wanted = wanted._replace(training=wanted.training.model_copy(update={"settings": settings}))
    wanted = wanted._replace(workers=workers or usable_cores())
    name = f"{Path(wanted.task).stem}-{wanted.reward.candidate_id}-{wanted.digest}"
    place = Path(folder) if folder else run.folder.place_within(TRAININGS, name) if run else Path(trainings, name)
    first = first if first_seed is None else first_seed
    anew = run is not None and not run.history.is_own and place.resolve().is_relative_to(run.folder.path.resolve())
    results = train_reward(wanted, range(first, first + seeds), place, on_progress=on_progress, anew=anew)
    return TrainedReward(place, wanted.reward, results, notes)


_Wanted = tuple[RewardTraining, int, list[str]]
"""What to train, from which seed on, and what speaks against comparing it."""


def _of_task(
    named: str, reward: str | Path | Reward | None, trainer: str | None, device: Device | Literal["auto"]
) -> _Wanted:
    task = lasting_reference(named)
    known = get_or_measure(task)
    trainer = trainer or trainer_of(known)
    settings = settings_for(trainer, known, device=device)
    if reward is None and "human" not in known.baselines:
        raise TaskError(f"{known.card.name} has no `human_reward` to train with", "give a reward: `--reward my.py`")
    card_for(trainer, known)  # raises for actions that it cannot learn
    training = Training(trainer=trainer, settings=settings.model_dump(mode="json"))
    spec = _spec("human" if reward is None else reward, known.baselines)
    return RewardTraining(task, known.files, spec, training, names=TaskNames.of(known.card)), 0, []


def _of_run(found: Reference, reward: str | Path | Reward | None, agreed: bool) -> _Wanted:
    history = found.history
    config, training, card = history.config, history.training, history.card
    assert config is not None and training is not None and card is not None
    require_trust(history, agreed)
    if reward is None:
        own = found.candidate in BASELINES
        spec = RewardSpec(candidate_id=found.candidate, source=found.reward.source, own=own)
    else:
        spec = _spec(reward, history.baselines)
    files = changed(history.task_files)
    notes = [f"The task has changed since the run: {', '.join(map(str, files))}."] if files else []
    known = get_or_measure(config.task).files if files else history.task_files
    wanted = RewardTraining(config.task, {**known}, spec, training, limits=limits_of(history), names=TaskNames.of(card))
    return wanted, config.seed * SEEDS_PER_RUN + _UNUSED, notes


def _spec(reward: str | Path | Reward, baselines: dict[str, str]) -> RewardSpec:
    """A reward that is given, or one of the task's own by name."""
    if isinstance(reward, str) and reward in BASELINES:
        if reward not in baselines:
            raise UsageError(f"the task has no {reward} reward", "give a file with a `compute_reward`")
        return RewardSpec(candidate_id=reward, source=baselines[reward], own=True)
    text = reward_source(reward)
    name = reward.name if isinstance(reward, Reward) else "reward" if "\n" in str(reward) else Path(reward).stem
    fits = is_candidate_id(name) and name not in BASELINES
    return RewardSpec(candidate_id=name if fits else "reward", source=text)
