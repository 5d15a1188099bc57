"""`MjlabTask`: a task of mjlab, by its id."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from torch import Tensor

from rewardgen.core.config import Device
from rewardgen.core.errors import TaskError, did_you_mean
from rewardgen.core.interpreter import python_command
from rewardgen.sandbox.environment import KERNELS
from rewardgen.sim.gym_env import MOST_SEEN, ActionCoder
from rewardgen.sim.variables import Var
from rewardgen.sim.vec_env import VecEnv
from rewardgen.tasks.gym_task import GymTask, Known

_XYZ = ("x", "y", "z")
_ROOT = (
    ("linear_velocity", "root_link_lin_vel_b", "m/s", "velocity of {} in its own frame: x ahead, y to the left, z up"),
    ("angular_velocity", "root_link_ang_vel_b", "rad/s", "angular velocity of {} in its own frame"),
    ("gravity", "projected_gravity_b", "1", "direction of gravity in the frame of {}; z is -1 where it stands upright"),
)
"""Variables of a robot or an object as a whole: name, field of mjlab, unit and meaning."""
_INSTALL = "mjlab needs an environment of its own: see docs/environments.md"
_WITHOUT_PROGRAMS = {"IMAGEIO_FFMPEG_EXE": "ffmpeg", "GIT_PYTHON_REFRESH": "quiet", "WANDB_MODE": "disabled"}
"""Settings of packages that mjlab imports: they start programs at import, which a confined worker cannot."""


class MjlabTask(GymTask):
    """A task of mjlab. Subclass it in a task file: `env = "Mjlab-Velocity-Flat-Unitree-Go1"`.

    Physics, observations, commands and terminations are mjlab's; the weighted sum of its rewards is the human reward.
    Declare variables with `Var` and compute them in `variables`; by default they are velocities, direction of gravity
    and joints of each robot or object, and each command. See `rewardgen.extras.mjlab.env.prepared` for what is left out
    so that each episode is drawn by itself.
    """

    env: ClassVar[str]
    """Id of a task, as in `list_tasks` of `mjlab.tasks.registry`."""
    action_limit: ClassVar[float] = 1.0
    """Largest size of an entry of an action; mjlab sets no limit."""
    on_device = True
    _kernels: ClassVar[Path | None] = None

    def edit_config(self, config: Any) -> None:
        """Change mjlab's configuration before environments are made of it."""

    @classmethod
    def known(cls) -> Known:
        """Return what one env shows."""
        return _look(cls)

    def variables(self, env: Any) -> Mapping[str, Tensor]:  # type: ignore[override]
        """The variables after a control step, each (N,) or (N, k)."""
        return {name: value for name, (_, value) in _offered(env).items()}

    def default_words(self, method: str) -> str:
        """See `Task.default_words`."""
        if method == "":
            return ""
        if method == "terminated":
            return "mjlab's own terminations end an episode early; its causes have their names."
        return super().default_words(method)

    def make_envs(  # type: ignore[override]
        self, seeds: Sequence[int], envs_per_seed: int, *, device: Device = "cpu", pictures: bool = False
    ) -> VecEnv:
        """Environments; see `Task.make_envs`."""
        if pictures:
            raise TaskError("environments of mjlab are not filmed here", "play the exported policy with mjlab's viewer")
        known = self.known()
        from rewardgen.extras.mjlab.env import MjlabVecEnv

        env = _made(type(self), len(seeds) * envs_per_seed, self.episode_steps, device)
        return MjlabVecEnv(
            self.path, env, self.declared(), self.variables, known.coder, seeds, episode_steps=self.episode_steps
        )

    def rsl_rl_runner(self) -> tuple[type, dict[str, Any]]:
        """The runner that mjlab has for the task, and a copy of its configuration, for the trainer `rsl-rl`."""
        registry, settings = _registry(self.env), importlib.import_module("mjlab.rl")
        kind = registry.load_runner_cls(self.env) or settings.MjlabOnPolicyRunner
        return kind, dataclasses.asdict(registry.load_rl_cfg(self.env))

    def sources(self) -> tuple[Path, ...]:
        """See `Task.sources`: the packages as they are installed have no file of the task's own."""
        return ()

    def prepare(self) -> Sequence[Path]:
        """Compile kernels for the CPU once for all workers, in a separate process; see `Task.prepare`."""
        try:
            versions = [version(package) for package in ("mjlab", "warp-lang", "mujoco-warp")]
            place = Path(os.environ[KERNELS])
        except (PackageNotFoundError, KeyError):
            return ()  # reported where envs are made
        folder = Path(place, "-".join(("mjlab", *versions)), self.env)
        if not folder.is_dir():
            code = "import sys; from rewardgen.extras.mjlab.task import compile_kernels; compile_kernels(*sys.argv[1:])"
            subprocess.run(python_command("-c", code, str(self.path), str(folder)), check=False)
        if not folder.is_dir():
            return ()  # each worker compiles its kernels
        type(self)._kernels = folder
        return (folder.parent,)


def _made(task: type[MjlabTask], num_envs: int, episode_steps: int, device: Device = "cpu") -> Any:
    """Make envs of a task; with its own length of episodes if `episode_steps` is 0."""
    config = _registry(task.env).load_env_cfg(task.env)
    from rewardgen.extras.mjlab.env import made, prepared

    task.edit_config(object.__new__(task), config)
    steps = episode_steps or round(config.episode_length_s / (config.sim.mujoco.timestep * config.decimation))
    batch = made(task.path, prepared(config, num_envs, steps), "cuda:0" if device == "cuda" else "cpu", task._kernels)
    batch.together = device != "cpu"
    return batch


def compile_kernels(path: str, folder: str) -> None:
    """Compile the kernels of a task on the CPU, in a process that has simulated nothing yet."""
    import warp  # pyright: ignore[reportMissingImports]

    from rewardgen.tasks.loading import load_task

    Path(folder).parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=Path(folder).parent, ignore_cleanup_errors=True) as place:
        warp.config.kernel_cache_dir = f"{place}/own"
        envs = load_task(path).make_envs([0], 2)
        envs.step(envs.action_low.expand(2, -1))
        with contextlib.suppress(OSError):  # another process was faster
            os.rename(f"{place}/own", folder)


def _registry(name: str) -> Any:
    """Return the registry of mjlab, after checking that it has a task."""
    for key, value in _WITHOUT_PROGRAMS.items():
        os.environ.setdefault(key, value)
    try:
        importlib.import_module("mjlab.tasks")
        registry = importlib.import_module("mjlab.tasks.registry")
    except ImportError as error:
        raise TaskError(f"mjlab cannot be imported: {error}", _INSTALL) from None
    if name not in registry.list_tasks():
        raise TaskError(f"mjlab has no task `{name}`", did_you_mean(name, registry.list_tasks()))
    return registry


@lru_cache(maxsize=8)
def _look(task: type[MjlabTask]) -> Known:
    env = _made(task, 1, vars(task).get("episode_steps", 0))
    from rewardgen.extras.mjlab.env import observed

    offered = _offered(env)
    size = int(observed(env.observation_manager.compute()).shape[1])
    if size > MOST_SEEN:
        raise TaskError(f"{task.env} observes {size} numbers, a picture", "choose a task that observes numbers")
    limit = np.full(env.action_manager.total_action_dim, task.action_limit, np.float32)
    return Known(
        kind=type(env).__mro__[1],
        space=spaces.Box(-np.inf, np.inf, (size,)),
        coder=ActionCoder(spaces.Box(-limit, limit), _action_parts(env)),
        variables={name: variable for name, (variable, _) in offered.items()},
        steps=int(env.max_episode_length),
        control_step_s=float(env.step_dt),
    )


def _action_parts(env: Any) -> tuple[str, ...]:
    """Names of actuated parts, such as joints; empty for other actions."""
    terms = [env.action_manager.get_term(name) for name in env.action_manager.active_terms]
    return tuple(name for term in terms for name in getattr(term, "target_names", ()))


def _moves(entity: Any) -> bool:
    """True for anything but terrain."""
    return not entity.is_fixed_base or entity.is_articulated


def _offered(env: Any) -> dict[str, tuple[Var, Tensor]]:
    """Variables of an env's robots, objects and commands, with their values."""
    offered: dict[str, tuple[Var, Tensor]] = {}
    entities = {name: entity for name, entity in env.scene.entities.items() if _moves(entity)}
    for name, entity in entities.items():
        start = "" if len(entities) == 1 else f"{name}_"
        data = entity.data
        if not entity.is_fixed_base:
            for quantity, field, unit, meaning in _ROOT:
                offered[start + quantity] = (Var(unit, meaning.format(f"`{name}`"), _XYZ), getattr(data, field))
        if entity.is_articulated:
            joints = tuple(entity.joint_names)
            offered[f"{start}joint_position"] = (Var("rad", f"joint positions of `{name}`", joints), data.joint_pos)
            offered[f"{start}joint_velocity"] = (Var("rad/s", f"joint velocities of `{name}`", joints), data.joint_vel)
    for name in env.command_manager.active_terms:
        value = env.command_manager.get_command(name)
        parts = tuple(f"{name}_{number}" for number in range(value.shape[1]))
        offered[name] = (Var("1", f"mjlab's command `{name}`", parts), value)
    return offered
