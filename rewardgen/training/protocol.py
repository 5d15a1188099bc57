"""What the search asks of a trainer: rewards with seeds in, results out as they come.

To add a trainer, write a class like `Trainer` and settings of its own, and register them:

    class SacSettings(TrainerSettings):
        replay_size: int = 1_000_000

    class SacTrainer:
        def __init__(self, setup): ...
        def train(self, rewards, slices, *, folder, on_progress, on_slice, stop_hacking=False, cancel=None): ...

    TRAINERS.register("sac", TrainerKind(SacTrainer, SacSettings, learner="SAC", notes="Observations are normalised."))

A run takes it by `RunConfig(trainer="sac")`, a task sets it by `training = {"sac": SacSettings(...)}`. The search knows
nothing of its processes and machines. One that trains in worker processes is a
`rewardgen.training.process_trainer.ProcessTrainer` with a job of its own; any other has its policies measured by
`rewardgen.training.measuring.evaluated`. Policies that no other trainer makes are a kind of their own: see
`rewardgen.training.policies`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from rewardgen.core.config import PROCESSES
from rewardgen.core.registry import Registry
from rewardgen.sandbox.process import Limits
from rewardgen.store.records import RewardSpec, SliceResult, SliceSpec, TrainerSettings
from rewardgen.training.result_validation import TaskNames

OnProgress = Callable[[dict[str, Any]], None]
OnSlice = Callable[[SliceResult], None]


class TrainerSetup(NamedTuple):
    """What a trainer is made of.

    Args:
        task: Name or path of the task.
        settings: Settings of the trainer's own class.
        workers: Processes at a time.
        scratch: Folder for what is needed while training.
        limits: Limits of a worker process; its wall-clock time is that of one slice.
        isolate: Whether each candidate trains in a process of its own, with all its seeds.
        names: Names of the task; without them, an episode's digest may hold any that look like names.
    """

    task: str
    settings: Any
    workers: int
    scratch: Path
    limits: Limits
    isolate: bool = False
    names: TaskNames | None = None


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
        stop_hacking: bool = False,
        cancel: threading.Event | None = None,
    ) -> None:
        """Train all slices; returns when every one was handed to `on_slice`. A failed slice is a result too.

        The result of a slice depends on its reward, its seed and the settings alone, but for its `wall_s`: not on the
        slices beside it, nor on the number of workers. A resumed run asks for what is missing only.

        Args:
            rewards: The programs, each with at least one slice.
            slices: Which candidate to train with which seed.
            folder: Where the policies are kept, as `SliceResult.policy` names them.
            on_progress: Called in the caller's thread at each evaluation of each slice, with candidate_id, seed,
                env_steps, fitness, success_rate and stopped.
            on_slice: Called in the caller's thread with each result, its fitness included.
            stop_hacking: Whether a slice whose reward rises while its fitness falls may end early; it has its result.
            cancel: Ends all work promptly when set.

        Raises:
            WorkerCancelled: `cancel` was set.
            RewardgenError: The task cannot be simulated, or a file cannot be written.
        """
        ...


class TrainerKind(NamedTuple):
    """A kind of trainer, as it is registered.

    Attributes:
        make: Makes one.
        settings: Class of its settings.
        learner: What the designer of rewards is told that trains on them.
        notes: In whole sentences: what it does to observations and rewards before it learns from them.
        chooses: Whether it learns actions that are choices.
        tuned: Settings that are known to suit an environment, by Gymnasium's id, for a task that gives none.
        loader: A Python file that loads the policies it makes and needs no rewardgen; it is handed out beside them.
    """

    make: Callable[[TrainerSetup], Trainer]
    settings: type[TrainerSettings]
    learner: str
    notes: str = ""
    chooses: bool = True
    tuned: Callable[[str], Mapping[str, Any]] = lambda environment: {}
    loader: Path | None = None


STANDALONE = Path(__file__).with_name("standalone.py")
"""Loads the kinds of policies below."""

NORMALISED = (
    "Observations are normalised, and so is the scale of the summed reward: only the balance between components"
    " matters. The time limit is no end for it."
)
"""`notes` of a learner that does so."""

TRAINERS: Registry[TrainerKind] = Registry("trainer")


class ExecutorSetup(NamedTuple):
    """Arguments of an executor's trainer.

    Attributes:
        trainer: Name of the kind of trainer that trains each candidate.
        setup: Arguments of that trainer.
        task_files: Files of the task.
        cluster: Address of the cluster, if the user named one.
        at_once: Candidates that train at once at most, if the user set it.
    """

    trainer: str
    setup: TrainerSetup
    task_files: Sequence[str] = ()
    cluster: str | None = None
    at_once: int | None = None


class ExecutorKind(NamedTuple):
    """Where candidates train. To add one, register it: `EXECUTORS.register("slurm", ExecutorKind(SlurmTrainer))`.

    Attributes:
        make: Makes a `Trainer` that has each candidate trained by the trainer that is named.
        check: Raises a `UsageError` if a package is missing; called before a run begins.
    """

    make: Callable[[ExecutorSetup], Trainer]
    check: Callable[[], object] = lambda: None


EXECUTORS: Registry[ExecutorKind] = Registry("executor")
EXECUTORS.register(PROCESSES, ExecutorKind(lambda job: TRAINERS.get(job.trainer).make(job.setup)))

POLICY_KINDS: Registry[str] = Registry("kind of policy")
"""What policy files name in their entry `kind`, to the `module:class` that reads them: see `training.policies`."""
POLICY_KINDS.register("ppo", "rewardgen.training.ppo.policy:PpoPolicy")
POLICY_KINDS.register("mlp", "rewardgen.training.mlp_policy:MlpPolicy")
