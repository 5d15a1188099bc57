"""What the rest of the package needs of a task. Loads no torch, so that tasks can be named without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

from rewardgen.core.config import Device
from rewardgen.sim.variables import Invariance, Pair, Var
from rewardgen.store.records import TrainerSettings

if TYPE_CHECKING:
    from torch import Tensor

    from rewardgen.sim.episodes import Episode
    from rewardgen.sim.vec_env import VecEnv
    from rewardgen.tasks.metric import Measured


class Task(Protocol):
    """A task as a task file defines it: variables, episodes, and how they are measured.

    `MujocoTask` is one kind. To add another, write a base class that derives from `Task` and says in `make_envs` how
    its episodes are simulated; the loader takes any class in a task file that derives from `Task`.

    Optional, as static methods in the reward contract: `human_reward` and `sparse_reward`.
    """

    path: ClassVar[Path]
    """The task file; set by the loader."""
    episode_steps: ClassVar[int] = 1000
    """Control steps of a full episode; then it is truncated."""
    success_terminates: ClassVar[bool] = False
    best_fitness: ClassVar[float | None] = None
    """What no fitness exceeds, where that is known: designers are told, and a search that is there ends."""
    solved_fitness: ClassVar[float | None] = None
    """The fitness from which the task counts as solved, as a person who watched the episode would say."""
    on_device: ClassVar[bool] = False
    """Whether `make_envs` simulates it on devices other than the CPU too."""
    slow: ClassVar[bool] = False
    """Whether training it takes too long on two cores: it is left out unless it is asked for by name."""
    training: ClassVar[Mapping[str, TrainerSettings]] = {}
    """Name of a trainer to its settings, as `{"ppo": PpoSettings(env_steps=300_000)}`; others have their defaults."""
    pairs: ClassVar[tuple[Pair, ...]] = ()
    """Situations that a sound reward tells apart: `Pair("near beats far", better={"distance": 0.1}, worse=...)`."""
    invariances: ClassVar[tuple[Invariance, ...]] = ()
    """What a sound reward does not notice, such as `Shift("x_position", 3.0)`."""
    reads: ClassVar[tuple[str, ...]] = ()
    """Files and folders that it reads besides those in its own folder and what its model includes, relative to the task
    file: `("../meshes", "/data/terrain.npy")`. The sandbox keeps its code from all others once it is loaded."""

    def make_envs(
        self, seeds: Sequence[int], envs_per_seed: int, *, threads: int = 1, device: Device = "cpu"
    ) -> VecEnv:
        """A vectorised environment of the task.

        Args:
            seeds: One seed per group of environments.
            envs_per_seed: Environments of each seed, at least: see `VecEnv`.
            threads: Physics threads.
            device: What simulates; only given where that is not the CPU.

        Raises:
            TaskError: The task breaks its contract, or cannot be simulated on the device.
        """
        ...

    def fitness(self, episode: Episode) -> Tensor:
        """The task's own number per episode, (N,), higher is better."""
        ...

    def success(self, episode: Episode) -> Tensor:
        """The task's own yes or no per episode, (N,) bool."""
        ...

    def measured(self, episode: Episode) -> Measured | None:
        """Fitness, success and named parts at once, if the task has a `metric`; None if it has the two methods."""
        return None

    def default_words(self, method: str) -> str:
        """What the task card says of a method that a task leaves as its base class has it; empty if it must not.

        Args:
            method: Its name; empty for the description of the task.
        """
        return ""

    def model_files(self) -> tuple[Path, ...]:
        """Files outside the task's own folder, or in it, that its simulation is built from, the model's first."""
        return ()

    def prepare(self) -> Sequence[Path]:
        """Make what simulating it needs besides; called in a worker before it is confined, and runs nothing generated.

        Returns:
            Files and folders that a confined worker reads for it.
        """
        return ()

    @classmethod
    def declared(cls) -> dict[str, Var]:
        """The declared variables by name, in the order of declaration, base classes first."""
        found: dict[str, Var] = {}
        for each in reversed(cls.__mro__):
            found.update({name: value for name, value in vars(each).items() if isinstance(value, Var)})
        return found
