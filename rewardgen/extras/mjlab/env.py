"""Envs over mjlab: its physics, observations, commands and terminations; episodes, seeds and rewards are ours.

mjlab draws from one random stream for all envs. Here each episode draws from its own as it begins, and draws in
mid-episode are left out: see `prepared`.
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
from rewardgen.sim.tensors import as_column
from rewardgen.sim.variables import Var
from rewardgen.sim.vec_env import DIVERGED, ENV_REWARD, Step, VecEnv

_NEVER_S = 1e9
_POLICY_SEES = ("actor", "policy")
"""Names of the group of observations for a policy."""


def prepared(config: Any, num_envs: int, episode_steps: int) -> Any:
    """Change a configuration of mjlab so that no env depends on others or on earlier episodes.

    Random numbers are drawn only where an episode begins: commands once, and friction and mass again in each episode.
    Pushes, noise on observations and curricula are left out. All envs stand at the same place of the plane.
    """
    config.scene.num_envs, config.scene.env_spacing = num_envs, 0.0
    config.auto_reset = False
    config.episode_length_s = episode_steps * config.sim.mujoco.timestep * config.decimation
    config.curriculum, config.metrics, config.recorders = {}, {}, {}
    events = {name: event for name, event in config.events.items() if event and event.mode in ("startup", "reset")}
    once = {name: dataclasses.replace(event, mode="reset") for name, event in events.items() if event.mode == "startup"}
    config.events = {**once, **{name: event for name, event in events.items() if name not in once}}
    for event in config.events.values():
        event.min_step_count_between_reset = 0
    for group in config.observations.values():
        group.enable_corruption = False
    for command in config.commands.values():
        command.resampling_time_range = (_NEVER_S, _NEVER_S)
    if (generator := getattr(config.scene.terrain, "terrain_generator", None)) is not None:
        generator.seed = generator.seed or 0
    return config


class Batch(ManagerBasedRlEnv):
    """The envs of mjlab; each episode begins by its own draws, unless there are thousands of envs."""

    start: Callable[[int], int]
    """Row of an env to the seed of the episode that it begins."""
    together = False
    """True to draw episodes that begin at one time together, by the seed of the first: one takes milliseconds."""

    def _reset_idx(self, env_ids: Tensor | None = None) -> None:
        rows = torch.arange(self.num_envs, device=self.device) if env_ids is None else env_ids
        devices = [self.device] if str(self.device).startswith("cuda") else []
        with torch.random.fork_rng(devices=devices):
            for group in [rows] if self.together else rows[:, None]:
                torch.manual_seed(self.start(int(group[0])))
                super()._reset_idx(group)


def made(path: Path, config: Any, device: str, kernels: Path | None = None) -> Batch:
    """Make envs of mjlab, without its printing."""
    wp.config.log_level = wp.LOG_ERROR
    if kernels and wp.config.kernel_cache_dir is None:
        wp.config.kernel_cache_dir = str(_copied(kernels))
    with env_faults(path), contextlib.redirect_stdout(io.StringIO()):
        return Batch(config, device)


def _copied(kernels: Path) -> Path:
    """Copy compiled kernels, as this process adds to them; a confined one may not set times and rights of files."""
    folder = Path(tempfile.gettempdir(), "kernels")
    for path in kernels.rglob("*.*"):
        if path.is_file():
            target = folder / path.relative_to(kernels)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    return folder


def flattened(groups: Mapping[str, Any]) -> dict[str, Tensor]:
    """Flatten each group of observations to (N, k) float32."""
    parts = {name: [*terms.values()] if isinstance(terms, Mapping) else [terms] for name, terms in groups.items()}
    return {name: torch.cat([part.flatten(1).float() for part in terms], 1) for name, terms in parts.items()}


def observed(groups: Mapping[str, Any]) -> Tensor:
    """Return the policy's observations, (N, O) float32."""
    name = next((group for group in _POLICY_SEES if group in groups), next(iter(groups)))
    return flattened({name: groups[name]})[name]


class MjlabVecEnv(VecEnv):
    """The `VecEnv` of mjlab's environments."""

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
        self.causes = tuple(term for term in ends.active_terms if not ends.get_term_cfg(term).time_out)
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
        """Groups of observations, (N, k) each, including those for critics alone."""
        self.observation_size = self.reset().shape[1]
        require(variable_problems(declared, self._variables(), self.num_envs))

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
        """See `VecEnv.rest`. mjlab still simulates these envs, without effect."""
        self._awake &= ~which

    def step(self, action: Tensor) -> Step:
        """See `VecEnv.step`."""
        action = action.float().clamp(self.action_low, self.action_high)
        with env_faults(self._path):
            groups, reward, terminated, timed_out, _ = self._env.step(action)
        self._env._manual_reset_pending[:] = False  # ended envs are reset below, resting ones need no reset
        diverged = ~torch.stack([(values.abs() < LARGEST_STATE).all(1) for values in self._state]).all(0)
        ends = self._env.termination_manager
        causes = {cause: ends.get_term(cause).clone() for cause in self.causes} | {DIVERGED: diverged}
        steps = self._env.episode_length_buf.clone()
        terminated = (terminated | diverged) & self._awake
        truncated = (timed_out | (steps >= self.episode_steps)) & self._awake & ~terminated
        current = {**self._variables(), ENV_REWARD: reward.float().clone(), "action": action}
        # Where physics diverged, the values of the step before stand instead.
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
        """Observations of the policy, (N, O) float32."""
        return observed(self.groups).clone()

    def _start(self, row: int) -> int:
        """Seed of the episode that a row begins; the episode depends on these three numbers alone."""
        return start_seed(self._seeds[row // self._per_seed], row % self._per_seed, self._episode[row])

    def _begin(self, ids: Tensor) -> dict[str, Tensor]:
        """Start the next episode of some envs, (n,); return the observations of all, (N, k) per group."""
        warm = self._warm.clone()
        with env_faults(self._path):
            groups, _ = self._env.reset(env_ids=ids)
        warm[ids] = self._warm[ids]
        self._warm.copy_(warm)  # the other envs continue unchanged
        for row in ids.tolist():
            self._episode[row] += 1
        return flattened(groups)

    def _variables(self) -> dict[str, Tensor]:
        with task_faults(self._path, "variables", self.device):
            values = self._read(self._env)
        require(mapping_problems("variables", values))
        named = Named("variables", dict(values))
        return {name: named[name].float().clone() for name in self._declared}
