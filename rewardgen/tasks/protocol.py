"""The `Task` protocol: everything the rest of the package asks of a task. Loads no torch.

To add a kind of task, derive a base class from `Task` and implement `make_envs`, `fitness` and `success`; the loader
accepts any class in a task file that derives from `Task`. Every other member has a default that means "not available".
A task file may say `fitness = None`: then only comparisons of episodes judge its policies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol

from rewardgen.core.config import Device
from rewardgen.sim.variables import Invariance, Pair, Var
from rewardgen.store.comparisons import Signal
from rewardgen.store.records import TrainerSettings

if TYPE_CHECKING:
    from torch import Tensor

    from rewardgen.sim.contract import Problem
    from rewardgen.sim.episodes import Episode
    from rewardgen.sim.vec_env import VecEnv

Baseline = Literal["human_reward", "sparse_reward"]
BASELINES: tuple[Baseline, ...] = ("human_reward", "sparse_reward")

METRIC, FITNESS, SUCCESS = "metric", "fitness", "success"
MOST_PARTS = 6
METRIC_EXTRAS = {
    "lived": "(N, T): 1 up to an episode's end, 0 after it",
    "time": "(N, T): time since the episode's start [s]",
    "terminated": "(N,): 1 if a termination condition ended the episode",
}
"""Inputs of a `metric` besides the task's variables and `action`."""


def metric_input_names(variables: Iterable[str]) -> tuple[str, ...]:
    """Return the names that a metric may read in a task with these variables."""
    return (*variables, "action", *METRIC_EXTRAS)


class EpisodeMeasures(NamedTuple):
    """Measures of N episodes.

    Attributes:
        fitness: (N,).
        success: (N,) bool.
        parts: Name of each part of the task's metric to its values, (N,) in [0, 1]; empty without a metric.
    """

    fitness: Tensor
    success: Tensor
    parts: dict[str, Tensor]


class Task(Protocol):
    """A task as its file defines it: variables, episodes, and how to measure them."""

    path: ClassVar[Path]
    """The task file; set by the loader."""
    episode_steps: ClassVar[int] = 1000
    """Control steps of a full episode; then the episode is truncated."""
    success_terminates: ClassVar[bool] = False
    best_fitness: ClassVar[float | None] = None
    """Highest possible fitness, if known: designers read it, and a search stops there."""
    solved_fitness: ClassVar[float | None] = None
    """Fitness from which a person who watched the episode would call the task solved."""
    on_device: ClassVar[bool] = False
    """True if `make_envs` also simulates on devices other than the CPU."""
    varies: ClassVar[bool] = False
    """True if its envs can `vary` their physics."""
    levels: ClassVar[tuple[float, ...]] = ()
    """Difficulties, rising in (0, 1), of easier starts for trainings with `--levels`. `reset` reads the present one as
    `draw.difficulty`, which is 1 for the task itself."""
    slow: ClassVar[bool] = False
    """True if training takes too long on two cores; tables of all tasks leave the task out."""
    training: ClassVar[Mapping[str, TrainerSettings]] = {}
    """Settings by name of the trainer, as `{"ppo": PpoSettings(env_steps=300_000)}`; other trainers use their own."""
    reads: ClassVar[tuple[str, ...]] = ()
    """Files and folders to read besides the task's folder and its model, relative to the task file."""

    pairs: ClassVar[tuple[Pair, ...]] = ()
    """Situations that a sound reward tells apart: `Pair("near beats far", better={"distance": 0.1}, worse=...)`."""
    invariances: ClassVar[tuple[Invariance, ...]] = ()
    """Changes that a sound reward ignores, such as `Shift("x_position", 3.0)`."""
    signals: ClassVar[tuple[Signal, ...]] = ()
    """Signs of a good episode, most important first, by which `--judge signals` compares: `Signal("height", at="max")`.
    """
    human_reward: ClassVar[Callable[..., Any] | None] = None
    """Static method in the reward language: the reward of a person, which a search has to beat."""
    sparse_reward: ClassVar[Callable[..., Any] | None] = None
    """Static method in the reward language: a reward for success alone."""
    metric: ClassVar[Callable[..., Any] | None] = None
    """Static method in the reward language in place of `fitness` and `success`: see `rewardgen.tasks.metric`."""
    scripted: ClassVar[Callable[..., Any] | None] = None
    """Method `scripted(self, sim, variables)`: actions (N, A) of a simple controller without memory."""

    def make_envs(
        self, seeds: Sequence[int], envs_per_seed: int, *, device: Device = "cpu", pictures: bool = False
    ) -> VecEnv:
        """Make a vectorised environment of the task.

        Args:
            seeds: One seed per group of environments.
            envs_per_seed: Environments of each seed, at least: see `VecEnv`.
            device: Device that simulates.
            pictures: True if pictures are going to be asked for.

        Raises:
            TaskError: The task breaks its contract, cannot be simulated on the device, or makes no pictures.
        """
        ...

    def fitness(self, episode: Episode) -> Tensor:
        """The task's own number per episode, (N,), higher is better."""
        ...

    def success(self, episode: Episode) -> Tensor:
        """The task's own yes or no per episode, (N,) bool."""
        ...

    @property
    def has_fitness(self) -> bool:
        """False for a task with `fitness = None`, which has no success either: people or models compare episodes."""
        return type(self).fitness is not None

    @property
    def has_success(self) -> bool:
        """False for a task that does not say when an episode is a success; then policies have no success rate."""
        return self.has_fitness

    def measured(self, episode: Episode) -> EpisodeMeasures | None:
        """Return fitness, success and named parts at once if the task has a `metric`, else None."""
        return None

    def call_problems(self) -> tuple[list[Problem], list[Problem]]:
        """Call each method once; return breaches of the contract, and likely mistakes."""
        return [], []

    def default_words(self, method: str) -> str:
        """Return the task card's text for a method that the task leaves to its base class.

        Args:
            method: Name of the method; empty for the description of the task.

        Returns:
            The text; empty if the task must define the method itself.
        """
        return ""

    def environment_id(self) -> str:
        """Return the id of the Gymnasium environment, or an empty text without one."""
        return ""

    def edit_model(self, spec: Any) -> None:
        """Change the `mujoco.MjSpec` of the model in place before it is compiled."""

    def model_files(self) -> tuple[Path, ...]:
        """Return the files of the MuJoCo model, the main one first; empty without a model."""
        return ()

    def sources(self) -> tuple[Path, ...]:
        """Return files, besides the task file, whose change makes this another task."""
        return self.model_files()

    def packages(self) -> list[str]:
        """Return requirements of the simulator besides Gymnasium.

        Raises:
            TaskError: An environment lies in a module that no installed package has.
        """
        return []

    def prepare(self) -> Sequence[Path]:
        """Make what simulation needs beforehand, in a worker that is not confined yet and runs no generated code.

        Returns:
            Files and folders for a confined worker to read.
        """
        return ()

    @classmethod
    def declared(cls) -> dict[str, Var]:
        """Return the declared variables by name, in order of declaration, base classes first."""
        variables: dict[str, Var] = {}
        for base in reversed(cls.__mro__):
            variables.update({name: value for name, value in vars(base).items() if isinstance(value, Var)})
        return variables
