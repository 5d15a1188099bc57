"""The seam between environments and everything that acts in them: what a vectorised environment is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor

from rewardgen.core.errors import TaskError

if TYPE_CHECKING:
    import numpy as np

DIVERGED = "physics diverged"
"""Termination cause of an env whose state stopped being finite."""

ENDED = "the environment's own end"
"""Termination cause of an environment that gives no reason."""

ENV_REWARD, ENV_SUCCESS = HIDDEN = ("env_reward", "env_success")
"""Inputs with an environment's own reward and success, for fitness, success and the human reward only.

The task card does not name them, and generated rewards may not read them.
"""

ActFunction = Callable[[Tensor], Tensor]
"""Observation (N, O) to action (N, A)."""


@dataclass(slots=True)
class Step:
    """One control step of N envs.

    Attributes:
        observation: Input of the next action, after automatic reset, (N, O) float32.
        final_observation: Observation before any reset, (N, O) float32: to bootstrap truncated episodes.
        inputs: Inputs of rewards: each variable, `action`, and `prev_` of each, float32, (N,) or (N, k), after the
            control step and before any reset. `prev_` equals the current value on an episode's first step.
        terminated: True where a termination condition ended the episode, (N,) bool.
        truncated: True where the time limit ended the episode, (N,) bool; never together with `terminated`.
        causes: Termination cause to (N,) bool.
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
    """N = len(seeds) * envs_per_seed environments of a task; env i belongs to seeds[i // envs_per_seed].

    What happens in an env depends only on its seed, its index among the envs of that seed, its episode number and the
    actions. Tensors lie on `device`.

    To add a kind of environment, derive a class from this one and return it from a task's `make_envs`. Set the
    attributes that have no default and write `reset`, `step` and `rest`; everything else is optional.
    """

    device: torch.device
    num_envs: int
    """N."""
    observation_size: int
    """Entries of an observation, O."""
    action_size: int
    """Entries of an action, A."""
    action_low: Tensor
    """Lowest action, (A,) float32, in actuator units."""
    action_high: Tensor
    """Highest action, (A,) float32."""
    action_parts: tuple[str, ...]
    """Names of the entries of an action."""
    control_step_s: float
    """Duration of a control step [s]."""
    episode_steps: int
    """Control steps of a full episode."""
    variables: tuple[str, ...]
    """Names of the variables that rewards may read."""
    causes: tuple[str, ...]
    """The task's own termination causes; a step may have others, such as `physics diverged`."""

    agents: tuple[str, ...] = ()
    """Names of the agents of a game; empty otherwise. Each agent has an env of its own, next to those of its game.

    Only whole games are made, so N // len(seeds) may exceed `envs_per_seed`.
    """
    choices: tuple[int, ...] = ()
    """Options of each discrete choice of an action, whose largest entry is chosen; empty for continuous actions."""
    most_envs: int | None = None
    """Envs that the device's free memory has room for; None if unlimited."""
    body_words: str = ""
    """Masses, motors and shapes of the robot in words, for the task card."""
    model: Any = None
    """The MuJoCo model of `pose`; None for envs that are filmed by `picture`."""

    def reset(self, *, staggered: bool = False, anew: bool = False) -> Tensor:
        """Begin a new episode in every env, those at rest included; the observation, (N, O) float32.

        Args:
            staggered: Shorten the first episode of each env by a different amount, so that a rollout holds all parts
                of an episode. Without it all envs reach the same step at once, and the policy forgets the other
                parts: fitness 0.72 instead of 0.84 on the cart-pole swing-up.
            anew: Restart the count of episodes, so that the same episodes begin as after construction.
        """
        ...

    def step(self, action: Tensor) -> Step:
        """Apply an action for one control step. The next episode begins where one ends; envs at rest do nothing.

        Args:
            action: (N, A) in actuator units; clipped to their range.
        """
        ...

    def rest(self, which: Tensor) -> None:
        """Stop simulating some envs, (N,) bool, until the next `reset`; no episode ends in them."""
        ...

    def perturb(self, number: int) -> Tensor | None:
        """Continue from states between the present ones and random ones, as if episodes had begun there.

        Args:
            number: Distinguishes the draws.

        Returns:
            The observation, (N, O) float32; None where states cannot be set.
        """
        return None

    def scripted_policy(self) -> ActFunction | None:
        """The task's own controller, acting on the present states; None if the task has none."""
        return None

    def beyond_actions(self) -> dict[str, tuple[bool, ...]]:
        """Find parts of variables that are drawn at the start of an episode and that no action can change.

        Returns:
            Variable to True for each such part; variables without one are left out.
        """
        return {}

    def pose(self) -> Tensor:
        """Joint positions, then place and quaternion of each mocap body, (N, nq + 7 nmocap): what a film needs."""
        raise TaskError("its envs have no poses", "film a task on a MuJoCo model")

    def picture(self, index: int) -> np.ndarray:
        """A picture of one env as it is now, (H, W, 3) uint8."""
        raise TaskError("its envs draw no pictures", "film a task on a MuJoCo model")
