"""Environments over mjlab: its physics, observations, commands and terminations; episodes, seeds and rewards are ours.

mjlab steps all environments at once and draws from one stream for all of them. Here each episode begins by draws of its
own, and what would draw in mid-episode is left out: see `prepared`.
"""

# The package of this extra may be missing.
# pyright: reportMissingImports=false

from __future__ import annotations

import contextlib
import dataclasses
import io
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import warp as wp
from mjlab.envs import ManagerBasedRlEnv
from torch import Tensor

from rewardgen.sim.contract import Named, mapping_problems, require, variable_problems
from rewardgen.sim.episodes import with_previous
from rewardgen.sim.faults import task_faults
from rewardgen.sim.gym_env import ActionCoder, env_faults, start_seed
from rewardgen.sim.live_fields import LARGEST_STATE
from rewardgen.sim.rows import as_column
from rewardgen.sim.variables import Var
from rewardgen.sim.vec_env import DIVERGED, ENV_REWARD, Step, VecEnv

_NEVER_S = 1e9
_POLICY_SEES = ("actor", "policy")
"""Names of the group of observations that a policy acts on."""


def prepared(config: Any, num_envs: int, episode_steps: int) -> Any:
    """A configuration of mjlab without what makes an environment depend on those beside it, or on what was before.

    Random numbers are drawn where an episode begins, and nowhere else: commands are drawn once, what mjlab randomises
    once per environment (friction, mass) is drawn anew, pushes and noise on observations are left out, and so are
    curricula. All environments stand at the same place of the plane.

    Args:
        config: A `ManagerBasedRlEnvCfg`; it is changed.
        num_envs: N.
        episode_steps: Control steps of a full episode.
    """
    config.scene.num_envs, config.scene.env_spacing = num_envs, 0.0
    config.auto_reset = False
    config.episode_length_s = episode_steps * config.sim.mujoco.timestep * config.decimation
    config.curriculum, config.metrics, config.recorders = {}, {}, {}
    events = {name: each for name, each in config.events.items() if each and each.mode in ("startup", "reset")}
    once = {name: dataclasses.replace(each, mode="reset") for name, each in events.items() if each.mode == "startup"}
    config.events = {**once, **{name: each for name, each in events.items() if name not in once}}
    for each in config.events.values():
        each.min_step_count_between_reset = 0
    for group in config.observations.values():
        group.enable_corruption = False
    for command in config.commands.values():
        command.resampling_time_range = (_NEVER_S, _NEVER_S)
    if (generator := getattr(config.scene.terrain, "terrain_generator", None)) is not None:
        generator.seed = generator.seed or 0
    return config


class Batch(ManagerBasedRlEnv):
    """The environments of mjlab, each of which begins its episodes by draws of its own, unless there are thousands."""

    start: Callable[[int], int]
    """From the row of an environment to the seed of the episode that it begins."""
    together = False
    """Whether the episodes that begin at a time are drawn at once, by the seed of the first: one by one takes mjlab
    milliseconds each."""

    def _reset_idx(self, env_ids: Tensor | None = None) -> None:
        rows = torch.arange(self.num_envs, device=self.device) if env_ids is None else env_ids
        devices = [self.device] if str(self.device).startswith("cuda") else []
        with torch.random.fork_rng(devices=devices):
            for group in [rows] if self.together else rows[:, None]:
                torch.manual_seed(self.start(int(group[0])))
                super()._reset_idx(group)


def made(path: Path, config: Any, device: str, kernels: Path | None = None) -> Batch:
    """Environments of mjlab, made without what it prints of them.

    Args:
        path: The task file, for messages.
        config: As `prepared`.
        device: `cpu`, or a CUDA device.
        kernels: A folder of compiled ones.

    Raises:
        TaskError: mjlab raised.
    """
    wp.config.log_level = wp.LOG_ERROR
    if kernels and wp.config.kernel_cache_dir is None:
        wp.config.kernel_cache_dir = str(_copied(kernels))
    with env_faults(path), contextlib.redirect_stdout(io.StringIO()):
        return Batch(config, device)


def _copied(kernels: Path) -> Path:
    """A copy of compiled kernels that this process may add to; a confined one sets no times and rights of files."""
    own = Path(tempfile.gettempdir(), "kernels")
    for each in kernels.rglob("*.*"):
        if each.is_file():
            target = own / each.relative_to(kernels)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(each, target)
    return own


def flattened(groups: Mapping[str, Any]) -> dict[str, Tensor]:
    """Observations of mjlab as rows of numbers, (N, k) float32 of each group."""
    parts = {name: [*each.values()] if isinstance(each, Mapping) else [each] for name, each in groups.items()}
    return {name: torch.cat([part.flatten(1).float() for part in each], 1) for name, each in parts.items()}


def observed(groups: Mapping[str, Any]) -> Tensor:
    """What the policy acts on of mjlab's observations, (N, O) float32."""
    name = next((each for each in _POLICY_SEES if each in groups), next(iter(groups)))
    return flattened({name: groups[name]})[name]


class MjlabVecEnv(VecEnv):
    """The `VecEnv` of mjlab's environments.

    Args:
        path: The task file, for messages.
        env: N fresh environments.
        declared: The variables by name.
        read: From the environments to the variables, (N, ...) each.
        coder: Of the actions.
        seeds: One seed per N / len(seeds) environments.
        episode_steps: Control steps of a full episode.

    Raises:
        TaskError: mjlab raised, or the variables break their contract.
    """

    def __init__(
        self,
        path: Path,
        env: Batch,
        declared: Mapping[str, Var],
        read: Callable[[Any], Mapping[str, Tensor]],
        coder: ActionCoder,
        seeds: Sequence[int],
        *,
        episode_steps: int,
    ) -> None:
        self.device, self.num_envs = torch.device(env.device), env.num_envs
        self.episode_steps, self.control_step_s = episode_steps, float(env.step_dt)
        self.action_low = torch.from_numpy(coder.low).float().to(self.device)
        self.action_high = torch.from_numpy(coder.high).float().to(self.device)
        self.action_size, self.action_parts = len(coder.parts), coder.parts
        self.variables = (*declared, ENV_REWARD)
        ends = env.termination_manager
        self.causes = tuple(each for each in ends.active_terms if not ends.get_term_cfg(each).time_out)
        self._path, self._env, self._declared, self._read = path, env, declared, read
        self._seeds, self._per_seed = list(seeds), env.num_envs // len(seeds)
        self._all = torch.arange(env.num_envs, device=self.device)
        self._episode = [0] * env.num_envs
        self._awake = torch.ones_like(self._all, dtype=torch.bool)
        self._state = [wp.to_torch(getattr(env.sim.wp_data, name)) for name in ("qpos", "qvel")]
        self._warm = wp.to_torch(env.sim.wp_data.qacc_warmstart)
        self._previous: dict[str, Tensor] = {}
        env.start = self._start
        self.groups: dict[str, Tensor] = {}
        """Observations as mjlab groups them, (N, k) each, those for critics alone included."""
        self.observation_size = self.reset().shape[1]
        found = self._variables()
        require(variable_problems(declared, found, self.num_envs))

    def reset(self, *, staggered: bool = False, anew: bool = False) -> Tensor:
        """See `VecEnv.reset`."""
        self._awake[:] = True
        if anew:
            self._episode = [0] * self.num_envs
        self.groups = self._begin(self._all)
        if staggered:
            self._env.episode_length_buf[:] = self._all % self._per_seed * self.episode_steps // self._per_seed
        return self._seen

    def rest(self, which: Tensor) -> None:
        """See `VecEnv.rest`. mjlab goes on with them, and nobody asks what becomes of them."""
        self._awake &= ~which

    def step(self, action: Tensor) -> Step:
        """See `VecEnv.step`."""
        action = action.float().clamp(self.action_low, self.action_high)
        with env_faults(self._path):
            groups, reward, terminated, timed_out, _ = self._env.step(action)
        self._env._manual_reset_pending[:] = False  # those that end begin anew below, those at rest need not
        diverged = ~torch.stack([(each.abs() < LARGEST_STATE).all(1) for each in self._state]).all(0)
        ends = self._env.termination_manager
        causes = {each: ends.get_term(each).clone() for each in self.causes} | {DIVERGED: diverged}
        steps = self._env.episode_length_buf.clone()
        terminated = (terminated | diverged) & self._awake
        truncated = (timed_out | (steps >= self.episode_steps)) & self._awake & ~terminated
        current = {**self._variables(), ENV_REWARD: reward.float().clone(), "action": action}
        # Where physics diverged, what there was before is told instead.
        before = self._previous or {name: torch.zeros_like(value) for name, value in current.items()}
        current = {
            name: torch.where(as_column(diverged, value), before[name], value) for name, value in current.items()
        }
        seen = {
            name: torch.where(as_column(diverged, value), self.groups[name], value)
            for name, value in flattened(groups).items()
        }
        inputs = with_previous(current, self._previous or current, steps == 1)
        self._previous, self.groups = current, seen
        final, ended = self._seen, terminated | truncated
        if bool(ended.any()):
            begun = self._begin(ended.nonzero()[:, 0])
            self.groups = {
                name: torch.where(as_column(ended, value), begun[name], value) for name, value in seen.items()
            }
        return Step(self._seen, final, inputs, terminated, truncated, causes, steps)

    @property
    def _seen(self) -> Tensor:
        """What the policy acts on, (N, O) float32."""
        return observed(self.groups).clone()

    def _start(self, row: int) -> int:
        """The seed of the episode that a row begins: what happens in it depends on these three numbers alone."""
        return start_seed(self._seeds[row // self._per_seed], row % self._per_seed, self._episode[row])

    def _begin(self, ids: Tensor) -> dict[str, Tensor]:
        """Start the next episode of some environments, (n,); observations of all, (N, k) of each group."""
        warm = self._warm.clone()
        with env_faults(self._path):
            groups, _ = self._env.reset(env_ids=ids)
        warm[ids] = self._warm[ids]
        self._warm.copy_(warm)  # the others go on as if nothing had been
        for row in ids.tolist():
            self._episode[row] += 1
        return flattened(groups)

    def _variables(self) -> dict[str, Tensor]:
        with task_faults(self._path, "variables", self.device):
            own = self._read(self._env)
        require(mapping_problems("variables", own))
        found = Named("variables", dict(own))
        return {name: found[name].float().clone() for name in self._declared}
