"""Trainers and executors: rewards with seeds in, results out as they come.

To add a trainer, write a class like `Trainer` with settings of its own, and register them:

    class CemSettings(TrainerSettings):
        population: int = 64

    class CemTrainer:
        def __init__(self, setup): ...
        def train(self, rewards, slices, *, folder, on_progress, on_slice, cancel=None): ...

    TRAINERS.register("cem", TrainerKind(CemTrainer, CemSettings, learner="CEM", notes="Observations are normalised."))

A run uses it by `RunConfig(trainer="cem")`, a task by `training = {"cem": CemSettings(...)}`. A trainer in worker
processes is a `ProcessTrainer` with a job of its own; any other measures its policies by `measuring.evaluated`.
To add a kind of policy, see `rewardgen.training.policies`.

To add an executor, register a function that makes a `Trainer` which trains candidates elsewhere:

    EXECUTORS.register("slurm", ExecutorKind(SlurmTrainer))
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from rewardgen.core.config import PROCESSES
from rewardgen.core.registry import Registry
from rewardgen.core.schema import validated
from rewardgen.sandbox.process import Limits
from rewardgen.store.records import RewardSpec, SliceResult, SliceSpec, TrainerSettings
from rewardgen.training.result_validation import TaskNames

OnProgress = Callable[[dict[str, Any]], None]
OnSlice = Callable[[SliceResult], None]


class TrainerSetup(NamedTuple):
    """Arguments of a trainer."""

    task: str
    """Name or path of the task."""
    settings: Any
    """Settings of the trainer's own class."""
    workers: int
    """Processes at a time."""
    scratch: Path
    """Folder for temporary files."""
    limits: Limits
    """Limits of a worker process; its time limit is per slice."""
    isolate: bool = False
    """True if each candidate trains in its own process, with all its seeds."""
    names: TaskNames | None = None
    """Names of the task; without them, results may hold any."""


class Trainer(Protocol):
    """Trains policies with rewards; each result is handed over as soon as its fitness is known."""

    def train(
        self,
        rewards: Sequence[RewardSpec],
        slices: Sequence[SliceSpec],
        *,
        folder: Path,
        on_progress: OnProgress,
        on_slice: OnSlice,
        cancel: threading.Event | None = None,
    ) -> None:
        """Train all slices, and hand each to `on_slice`; a failed slice is a result too.

        Except for `wall_s`, the result of a slice depends on its reward, its seed and the settings alone: not on the
        slices beside it, nor on the number of workers. A resumed run asks for missing slices only.

        Args:
            rewards: The programs, each with at least one slice.
            slices: Candidate and seed of each training.
            folder: Folder for the policies, as `SliceResult.policy` names them.
            on_progress: Called in the caller's thread at each evaluation of each slice, with candidate_id, seed,
                env_steps, fitness and success_rate.
            on_slice: Called in the caller's thread with each result, its fitness included.
            cancel: Ends all work promptly when set.

        Raises:
            WorkerCancelled: `cancel` was set.
            RewardgenError: The task cannot be simulated, or a file cannot be written.
        """
        ...


class TrainerKind(NamedTuple):
    """A registered trainer."""

    make: Callable[[TrainerSetup], Trainer]
    settings: type[TrainerSettings]
    learner: str
    """Name of the learner, for the designer of rewards."""
    notes: str = ""
    """Whole sentences for the designer: how the learner treats observations and rewards."""
    chooses: bool = True
    """True if it learns discrete actions."""
    tuned: Callable[[str], Mapping[str, Any]] = lambda environment: {}
    """Settings known to suit an environment, by Gymnasium's id, for tasks without their own."""
    loader: Path | None = None
    """A Python file that loads its policies without rewardgen; handed out beside them."""
    profiles: Mapping[str, Mapping[str, Any]] = {}
    """Changes of the settings by name; where a task has no settings of its own, they race with the usual ones."""
    has_eyes: bool = False
    """True if its policies see stages and what their reward observes; see `rewardgen.training.shared.eyes`."""
    randomises: bool = False
    """True if its training envs draw their physics from the setting `randomise`."""
    has_levels: bool = False
    """True if the starts of its training episodes follow the setting `levels`."""

    def recorded(self, settings: Mapping[str, Any]) -> Any:
        """Return the settings that a run recorded.

        Raises:
            UsageError: They are not those of this trainer.
        """
        return validated(self.settings, {**settings}, "the run's trainer", "restore the run's `events.jsonl`")


STANDALONE = Path(__file__).with_name("standalone.py")
"""`loader` of the kinds of policies below."""

NORMALISED = (
    "Observations are normalised, and so is the scale of the summed reward: only the balance between components"
    " matters. The time limit is no end for it."
)
"""`notes` of a learner that normalises."""

TRAINERS: Registry[TrainerKind] = Registry("trainer")

POLICY_KINDS: Registry[str] = Registry("kind of policy")
"""The entry `kind` of policy files to the `module:class` that reads them."""
POLICY_KINDS.register("ppo", "rewardgen.training.ppo.policy:PpoPolicy")
POLICY_KINDS.register("mlp", "rewardgen.training.mlp_policy:MlpPolicy")
POLICY_KINDS.register("replay", "rewardgen.training.replayed_policy:ReplayedPolicy")


class ExecutorSetup(NamedTuple):
    """Arguments of an executor."""

    trainer: str
    """Name of the trainer that trains each candidate."""
    setup: TrainerSetup
    """Arguments of that trainer."""
    task_files: Sequence[str] = ()
    cluster: str | None = None
    """Address of the cluster, if the user named one."""
    at_once: int | None = None
    """Most candidates that train at once, if the user set it."""


class ExecutorKind(NamedTuple):
    """A registered executor."""

    make: Callable[[ExecutorSetup], Trainer]
    check: Callable[[], object] = lambda: None
    """Raises a `UsageError` if a package is missing; called before a run begins."""


EXECUTORS: Registry[ExecutorKind] = Registry("executor")
EXECUTORS.register(PROCESSES, ExecutorKind(lambda job: TRAINERS.get(job.trainer).make(job.setup)))
