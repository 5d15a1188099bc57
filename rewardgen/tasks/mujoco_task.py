"""`MujocoTask`: a task on a MuJoCo model, the base class of task files.

A task file holds one class. Everything is batched over N envs: tensors are torch, batch first, in SI units.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import mujoco
import numpy as np
import torch
from torch import Tensor

from rewardgen.core.config import Device
from rewardgen.core.errors import TaskError
from rewardgen.reward.program import RewardError
from rewardgen.sim.contract import Named, Problem, mapping_problems, require
from rewardgen.sim.draws import Draws
from rewardgen.sim.episodes import Episode
from rewardgen.sim.faults import task_faults
from rewardgen.sim.model import find_model, included_files, load_model
from rewardgen.sim.mujoco_env import MujocoVecEnv
from rewardgen.sim.protocol import MUJOCO_CPU, ON_DEVICE, SIMULATORS, MujocoSimulator
from rewardgen.sim.quantities import Quantity, with_sensors
from rewardgen.sim.sim_view import SimView, Start, floats_alone
from rewardgen.sim.variables import Outside, setting_text
from rewardgen.tasks.members import MEASURED_HINT, OwnProgram, own_program
from rewardgen.tasks.metric import Metric, metric_words
from rewardgen.tasks.protocol import FITNESS, METRIC, SUCCESS, EpisodeMeasures, Task


class MujocoTask(Task):
    """A task on a MuJoCo model. Subclass it in a task file; the class docstring is the description the designer reads.

    The task card quotes the first paragraph of the docstrings of `reset`, `observe`, `terminated`, `success` and
    `fitness`, so write them for the designer. The code of `fitness` and `success` is never shown.

    Declare variables as class attributes: `height = Var("m", "height of the torso above the ground")`.
    """

    model: ClassVar[str] = ""
    """The MJCF file.

    Relative to the file of the class that sets it, or one of `gymnasium:hopper.xml`, `dm_control:cheetah.xml` and
    `shipped:cartpole.xml`.
    """
    on_device = varies = True
    simulator: ClassVar[str] = MUJOCO_CPU
    """Name of the simulator in `rewardgen.sim.protocol.SIMULATORS`."""
    frame_skip: ClassVar[int] = 1
    """Physics steps per control step."""
    needs_contact_forces: ClassVar[bool] = False
    """True if `cfrc_ext` is read, which costs an extra pass per control step."""
    current_fields: ClassVar[bool] = False
    """True if `xpos` and all else derived from positions and velocities describe the state after a control step.

    Otherwise they describe the last physics substep, as in Gymnasium; force and acceleration sensors always do."""

    keyframe: ClassVar[str] = ""
    """Keyframe of the model in which episodes begin; the reference pose if empty."""
    start: ClassVar[Mapping[str, float | tuple[float, float, float]]] = {}
    """Changes of the start: a hinge or slide joint to its position, a free body to its place."""
    start_noise: ClassVar[float] = 0.005
    """Largest random difference of a position and a velocity at the start [m, rad, and per second].

    A free body that rests on the ground is raised where the noise would sink it."""
    sees_place: ClassVar[bool] = False
    """True if policies also see x and y of a robot that floats freely, alone."""
    ends: ClassVar[Mapping[str, Outside]] = {}
    """Conditions that end an episode early: name of the cause to `Outside("height", low=0.7)`."""

    def edit_model(self, spec: mujoco.MjSpec) -> None:
        """Change the model in place before it is compiled, in every process that simulates the task."""

    def reset(self, sim: SimView, draw: Draws) -> Start:
        """Draw the initial state of n envs; by default `keyframe` and `start` with `start_noise`.

        Goals of the episode come third: `return *super().reset(sim, draw), {"mark": draw.uniform(-1.0, 1.0, 3)}` moves
        the mocap body `mark` in each env; goals of other names are read as `sim.goal("command")`.

        Args:
            sim: The n envs; `sim.qpos0 (nq,)` is the model's reference pose. For a fixed start set `start_noise = 0.0`,
                or return `sim.qpos0.repeat(draw.num_envs, 1), torch.zeros_like(sim.qvel)`.
            draw: Random numbers, one independent stream per env: `draw.uniform(low, high, size)` is (n, size).

        Returns:
            Positions (n, nq), velocities (n, nv), and optionally goals, name to (n,) or (n, k).
        """
        model, noise = sim.model, self.start_noise
        qvel = sim.keyframe(self.keyframe)[1] if self.keyframe else sim.qpos0.new_zeros(model.nv)
        pose = (model.key(self.keyframe).qpos if self.keyframe else model.qpos0).copy()
        for name, place in self.start.items():
            at = sim.placed(name)
            values = np.reshape(place, -1)
            if len(values) != at.stop - at.start:
                message = f"`start` gives `{name}` {len(values)} numbers, it has {at.stop - at.start}"
                raise TaskError(message, "one number for a joint, (x, y, z) for a body that moves freely")
            pose[at] = values
        positions = sim.raised(sim.constant(pose) + draw.uniform(-noise, noise, model.nq), pose)
        return positions, qvel + draw.uniform(-noise, noise, model.nv)

    def variables(self, sim: SimView) -> dict[str, Tensor]:
        """Return the variables declared with `Var` after a control step, each (N,) or (N, k); not the quantities."""
        return {}

    def read(self, sim: SimView) -> dict[str, Tensor]:
        """Return all declared variables after a control step, each (N,) or (N, k)."""
        computed = self.variables(sim)
        require(mapping_problems("variables", computed))
        return Named("variables", {**{name: part.read(sim) for name, part in self._quantities.items()}, **computed})

    @cached_property
    def _quantities(self) -> dict[str, Quantity]:
        return {name: variable for name, variable in self.declared().items() if isinstance(variable, Quantity)}

    def observe(self, sim: SimView, variables: Mapping[str, Tensor]) -> Tensor:
        """Return the observation of the policy, (N, O).

        By default all positions, but for x and y of a robot that floats alone without `sees_place`, and all velocities
        clipped to [-10, 10].
        """
        first = 2 if sim.floats_alone and not self.sees_place else 0
        return torch.cat((sim.qpos[:, first:], sim.qvel.clamp(-10.0, 10.0)), 1)

    def terminated(self, sim: SimView, variables: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the causes that end an episode early: name of the cause to (N,) bool."""
        return {
            cause: (variables[end.variable] < end.low) | (variables[end.variable] > end.high)
            for cause, end in self.ends.items()
        }

    def default_words(self, method: str) -> str:
        """See `Task.default_words`."""
        if method in (FITNESS, SUCCESS):
            return metric_words(self)[method] if self.metric else ""
        moved = ", ".join(f"{name} at {setting_text(place)}" for name, place in self.start.items())
        pose = f"the model's keyframe `{self.keyframe}`" if self.keyframe else "the model's reference pose"
        pose += f", but with {moved}" if moved else ""
        units = {name: variable.unit for name, variable in self.declared().items()}
        when = ", or ".join(end.in_words(units.get(end.variable, "")) for end in self.ends.values())
        hidden = method == "observe" and not self.sees_place and floats_alone(self._load_model())
        but = ", without x and y of the robot, which floats freely" if hidden else ""
        return {
            "reset": f"In {pose}, with uniform noise of {self.start_noise:g} on every position and velocity.",
            "observe": f"All positions{but}; all velocities, in [-10, 10]; each in the order of the model's joints.",
            "terminated": f"The episode ends when {when}." if when else "Nothing ends an episode early.",
        }.get(method, "")

    def fitness(self, episode: Episode) -> Tensor:
        """The task's own number per episode, (N,), higher is better; by `metric`, if the task has one."""
        return self._by_metric(episode).fitness

    def success(self, episode: Episode) -> Tensor:
        """The task's own yes or no per episode, (N,) bool; by `metric`, if the task has one."""
        return self._by_metric(episode).success

    def _by_metric(self, episode: Episode) -> EpisodeMeasures:
        measures = self.measured(episode)
        if measures is None:
            missing = next((name for name in (FITNESS, SUCCESS) if not self._defines(name)), FITNESS)
            raise TaskError(f"{self.path.name} does not define `{missing}`", MEASURED_HINT[missing])
        return measures

    def measured(self, episode: Episode) -> EpisodeMeasures | None:
        """See `Task.measured`.

        Raises:
            TaskError: The metric does not compile, raised, or broke its contract; or the task measures twice.
        """
        if self._own_metric is None:
            return None
        try:
            return self._metric(episode)
        except RewardError as error:
            raise self._own_metric.fault(error.line, error.message, error.hint) from error

    @cached_property
    def _own_metric(self) -> OwnProgram | None:
        program = own_program(self, METRIC)
        methods = [name for name in (FITNESS, SUCCESS) if self._defines(name)]
        if program and methods:
            message = f"{self.path.name} has both `{METRIC}` and `{methods[0]}`"
            raise TaskError(message, f"keep one of them: `{METRIC}` returns `{methods[0]}` too")
        return program

    @cached_property
    def _metric(self) -> Metric:
        assert self._own_metric is not None
        return Metric(self._own_metric.source)

    def _defines(self, method: str) -> bool:
        return getattr(type(self), method) is not getattr(MujocoTask, method)

    def call_problems(self) -> tuple[list[Problem], list[Problem]]:
        """See `Task.call_problems`."""
        from rewardgen.tasks.mujoco_check import call_problems  # it imports this module

        return call_problems(self)

    def make_envs(
        self, seeds: Sequence[int], envs_per_seed: int, *, device: Device = "cpu", pictures: bool = False
    ) -> MujocoVecEnv:
        """See `Task.make_envs`; pictures are rendered from the model."""
        return MujocoVecEnv(self, self.make_simulator(len(seeds) * envs_per_seed, device=device), seeds)

    def make_simulator(self, num_envs: int, threads: int = 1, device: Device = "cpu") -> MujocoSimulator:
        """Make a simulator of the task's model.

        Args:
            num_envs: N.
            threads: Physics threads.
            device: Device that simulates; a task with a simulator of its own keeps it.

        Raises:
            TaskError: The model is missing, does not compile, or has an actuator without a control range.
            UsageError: The simulator is unknown.
        """
        simulator = ON_DEVICE.get(device, self.simulator) if self.simulator == MUJOCO_CPU else self.simulator
        return SIMULATORS.get(simulator)(
            self._load_model(),
            num_envs,
            self.frame_skip,
            threads=threads,
            contact_forces=self.needs_contact_forces,
            current_fields=self.current_fields,
        )

    def _load_model(self) -> mujoco.MjModel:
        edits = type(self).edit_model is not MujocoTask.edit_model
        return load_model(self.model_file(), self._prepare if edits or self._quantities else None)

    def _prepare(self, spec: mujoco.MjSpec) -> None:
        with task_faults(self.path, "edit_model"):
            self.edit_model(spec)
        with_sensors(spec, self._quantities.values())

    def model_file(self) -> Path:
        """Return the path of `model`, beside the file of the class that sets it.

        Raises:
            TaskError: The task names no model, or the file is missing.
        """
        kinds = type(self).__mro__
        module = next(kind.__module__ for kind in kinds if "model" in vars(kind))
        paths = (vars(kind)["path"] for kind in kinds if kind.__module__ == module and "path" in vars(kind))
        return find_model(self.model or None, next(paths, self.path))

    def model_files(self) -> tuple[Path, ...]:
        """Return the model's file, then all files that it includes; empty for a model that cannot be read."""
        try:
            return included_files(self.model_file())
        except TaskError:
            return ()

    def packages(self) -> list[str]:
        """See `Task.packages`."""
        return ["mujoco"]
