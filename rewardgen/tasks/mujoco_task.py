"""`MujocoTask`: a task on a MuJoCo model, the base class of task files.

A task file holds one class. Everything in it is batched over N worlds: tensors are torch, batch first, in SI units.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from torch import Tensor

from rewardgen.core.errors import TaskError
from rewardgen.sim.episodes import Episode
from rewardgen.sim.model import find_model, included_files, load_model
from rewardgen.sim.mujoco_env import MujocoVecEnv
from rewardgen.sim.protocol import MUJOCO_CPU, SIMULATORS, Simulator
from rewardgen.sim.view import Draws, SimView
from rewardgen.tasks.protocol import Task


class MujocoTask(Task):
    """A task on a MuJoCo model. Subclass it in a task file; the class docstring is the description the designer reads.

    The first paragraph of the docstrings of `reset`, `observe`, `terminated`, `success` and `fitness` goes on the task
    card in those words, so write them for the designer. The code of `fitness` and `success` is never shown.

    Declare variables as class attributes: `height = Var("m", "height of the torso above the ground")`.
    """

    model: ClassVar[str]
    """MJCF file, relative to the task file, or `gymnasium:hopper.xml` for one of Gymnasium's assets."""
    simulator: ClassVar[str] = MUJOCO_CPU
    """What steps the model, by its name in `rewardgen.sim.protocol.SIMULATORS`."""
    frame_skip: ClassVar[int] = 1
    """Physics steps per control step."""
    needs_contact_forces: ClassVar[bool] = False
    """Whether `cfrc_ext` is read, which costs an extra pass per control step."""

    def reset(self, sim: SimView, draw: Draws) -> tuple[Tensor, Tensor]:
        """Draw the initial state of n worlds.

        Args:
            sim: The simulator; `sim.qpos0 (nq,)` is the model's reference pose.
            draw: Random numbers, one independent stream per world: `draw.uniform(low, high, size)` is (n, size).

        Returns:
            Positions (n, nq) and velocities (n, nv).
        """
        raise NotImplementedError

    def variables(self, sim: SimView) -> dict[str, Tensor]:
        """The declared variables after a control step, each (N,) or (N, k)."""
        raise NotImplementedError

    def observe(self, sim: SimView, variables: Mapping[str, Tensor]) -> Tensor:
        """What the policy sees, (N, observation size)."""
        raise NotImplementedError

    def terminated(self, sim: SimView, variables: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Causes that end an episode early: name of the cause to (N,) bool. The docstring tells the designer."""
        return {}

    def fitness(self, episode: Episode) -> Tensor:
        """The task's own number per episode, (N,), higher is better."""
        raise NotImplementedError

    def success(self, episode: Episode) -> Tensor:
        """The task's own yes or no per episode, (N,) bool."""
        raise NotImplementedError

    # Optional: `human_reward` and `sparse_reward`, static methods in the reward contract, and
    # `scripted(self, sim, variables)`, the actions (N, A) of a simple controller that gets somewhere: the critic then
    # tries rewards on its transitions too. It has no memory, so that it acts alike whenever it is asked.

    def make_envs(self, seeds: Sequence[int], envs_per_seed: int, *, threads: int = 1) -> MujocoVecEnv:
        """A vectorised environment of the task; see `Task.make_envs`."""
        return MujocoVecEnv(self, self.make_simulator(len(seeds) * envs_per_seed, threads), seeds)

    def make_simulator(self, num_envs: int, threads: int = 1) -> Simulator:
        """Fresh worlds of the task's model.

        Args:
            num_envs: N.
            threads: Physics threads.

        Raises:
            TaskError: The model is missing, does not compile, or has an actuator without a control range.
            UsageError: There is no such simulator.
        """
        make, model = SIMULATORS.get(self.simulator), load_model(self.model_file())
        return make(model, num_envs, self.frame_skip, threads=threads, contact_forces=self.needs_contact_forces)

    def model_file(self) -> Path:
        """Where `model` is.

        Raises:
            TaskError: The task names no model, or there is no such file.
        """
        return find_model(getattr(self, "model", None), self.path)

    def model_files(self) -> tuple[Path, ...]:
        """The model's file and all that it includes, wherever that is; empty for a model that cannot be read."""
        try:
            return included_files(self.model_file())
        except TaskError:
            return ()
