"""The seam between environments and everything that acts in them: `VecEnv`, a batch of environments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor

from rewardgen.core.errors import TaskError
from rewardgen.core.physics import Ranges, cannot_vary

if TYPE_CHECKING:
    import numpy as np

DIVERGED = "physics diverged"
"""Termination cause of an env whose state is no longer finite."""

ENDED = "the environment's own end"
"""Termination cause of an environment that names none."""

ENV_REWARD, ENV_SUCCESS = HIDDEN = ("env_reward", "env_success")
"""Inputs with an environment's own reward and success. Fitness, success and the human reward may read them; designers
and generated rewards may not."""

ActFunction = Callable[[Tensor], Tensor]
"""Maps observations (N, O) to actions (N, A)."""


@dataclass(slots=True)
class Step:
    """One control step of N envs.

    Attributes:
        observation: Observation for the next action, after automatic reset, (N, O) float32.
        final_observation: Observation before any reset, (N, O) float32, for bootstrapping truncated episodes.
        inputs: Inputs of rewards before any reset: each variable, `action`, and `prev_` of each, (N,) or (N, k)
            float32. On an episode's first step `prev_` is the current value.
        terminated: True where a termination condition ended the episode, (N,) bool.
        truncated: True where the time limit ended the episode, (N,) bool; never together with `terminated`.
        causes: True where a termination cause holds, (N,) bool, by cause.
        episode_step: Control steps since the episode began, (N,) int64; 1 on its first step.
    """

    observation: Tensor
    final_observation: Tensor
    inputs: dict[str, Tensor]
    terminated: Tensor
    truncated: Tensor
    causes: dict[str, Tensor]
    episode_step: Tensor


class VecEnv(Protocol):
    """A batch of N environments of one task, the same number for each seed. All tensors lie on `device`.

    N is len(seeds) * envs_per_seed, or more for games (see `agents`). Env i belongs to
    `seeds[i // (N // len(seeds))]`. Its states depend only on that seed, on its index among the seed's
    envs, on its episode number and on its actions.

    To add a kind of environment, derive a class and return it from a task's `make_envs`. Set the attributes without a
    default and define `reset`, `step` and `rest`; everything else is optional.
    """

    device: torch.device
    num_envs: int
    """N."""
    observation_size: int
    """Size of an observation, O."""
    action_size: int
    """Size of an action, A."""
    action_low: Tensor
    """Lower bound of an action, (A,) float32, in actuator units."""
    action_high: Tensor
    """Upper bound of an action, (A,) float32."""
    action_parts: tuple[str, ...]
    """Names of the entries of an action."""
    control_step_s: float
    """Duration of a control step [s]."""
    episode_steps: int
    """Control steps of a full episode."""
    variables: tuple[str, ...]
    """Names of the variables that rewards may read."""
    causes: tuple[str, ...]
    """Termination causes that the task declares; a step may report others, such as `physics diverged`."""

    agents: tuple[str, ...] = ()
    """Names of the agents of a game. Each agent is one env, and the agents of a game are adjacent. N counts whole
    games, so N // len(seeds) may exceed `envs_per_seed`."""
    choices: tuple[int, ...] = ()
    """Number of options of each choice, for discrete actions: of an option's numbers the largest wins. Empty for
    continuous actions."""
    most_envs: int | None = None
    """Largest N that fits into the device's free memory; None if unlimited."""
    body_words: str = ""
    """Description of the robot's masses, motors and shapes, for the task card."""
    model: Any = None
    """MuJoCo model of the poses in `pose`; None if films must use `picture`."""

    def reset(self, *, staggered: bool = False, anew: bool = False) -> Tensor:
        """Begin a new episode in every env, including envs at rest, and return the observation, (N, O) float32.

        Args:
            staggered: Shorten the first episodes by different amounts. Without early termination, all envs would
                otherwise be at the same moment of the episode, and a rollout would cover that moment only: fitness
                0.72 instead of 0.84 on the cart-pole swing-up.
            anew: Restart the episode numbers, to repeat the episodes that followed construction.
        """
        ...

    def step(self, action: Tensor) -> Step:
        """Advance all envs but those at rest by one control step, and reset envs whose episode ended.

        Args:
            action: Actions in actuator units, (N, A); clipped to their bounds.
        """
        ...

    def rest(self, which: Tensor) -> None:
        """Pause some envs, (N,) bool, until the next `reset`; no episode ends in a paused env."""
        ...

    def vary(self, ranges: Ranges) -> None:
        """Draw the physics of each episode from ranges, from the next `reset` on.

        Rewards read the action of the policy, not the delayed one.

        Raises:
            TaskError: The physics cannot change.
        """
        raise cannot_vary()

    def ease(self, difficulty: float) -> None:
        """Begin further episodes at a difficulty in (0, 1], which `reset` of the task reads; 1 is the task itself.

        Raises:
            TaskError: Starts are not drawn by a `reset` of the task.
        """
        raise TaskError("its envs have no levels", "leave out `levels`: a task on a MuJoCo model can have them")

    def perturb(self, number: int) -> Tensor | None:
        """Move all envs to states between their present states and random states, and begin episodes there.

        Equal numbers draw equal states. Returns the observation, (N, O) float32; None if states cannot be set.
        """
        return None

    def variables_now(self) -> dict[str, Tensor]:
        """Return the present variables, (N, ...) each; NaN where the start of an episode does not tell.

        Raises:
            TaskError: The envs give variables after a step only.
        """
        raise TaskError("its envs give no variables at the start of an episode", "leave out `observe`")

    def scripted_policy(self) -> ActFunction | None:
        """Return the task's own controller, which reads the present states; None if the task has none."""
        return None

    def beyond_actions(self) -> dict[str, tuple[bool, ...]]:
        """Return variables that are drawn at the start and that no action can change: name to a flag for each part."""
        return {}

    def pose(self) -> Tensor:
        """Return joint positions, then position and quaternion of each mocap body, (N, nq + 7 nmocap), for films."""
        raise TaskError("its envs have no poses", "film a task on a MuJoCo model")

    def picture(self, index: int) -> np.ndarray:
        """Render the present state of one env, (H, W, 3) uint8."""
        raise TaskError("its envs draw no pictures", "film a task on a MuJoCo model")
