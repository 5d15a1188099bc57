"""The seam between the environments and everything that acts in them: what a vectorised environment is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

DIVERGED = "physics diverged"
"""The termination cause of an env whose state stopped being finite."""

ENDED = "the environment's own end"
"""The termination cause of an environment that does not say why."""

ENV_REWARD, ENV_SUCCESS = HIDDEN = ("env_reward", "env_success")
"""What an environment with a reward of its own says of a step: for fitness, success and the human reward alone. No
designer is told of it, and no generated reward may read it."""

Policy = Callable[[Tensor], Tensor]
"""Observation (N, O) to action (N, A)."""


@dataclass(slots=True)
class Step:
    """What one control step of N envs gives.

    Attributes:
        observation: What the policy acts on next, after automatic reset, (N, O) float32.
        final_observation: The same before any reset, (N, O) float32: to bootstrap truncated episodes.
        inputs: What rewards read: each variable, `action`, and `prev_` of each, float32, (N,) or (N, k), after the
            control step and before any reset. `prev_` equals the current value on an episode's first step.
        terminated: Whether a termination condition ended the episode, (N,) bool.
        truncated: Whether the time limit ended it, (N,) bool; never together with `terminated`.
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
    """N = len(seeds) * envs_per_seed environments of a task; environment i belongs to seeds[i // envs_per_seed].

    Where several agents act in a game, each is an environment here, those of a game one after another, and `agents` has
    their names, or of many their roles. There are whole games only, so N // len(seeds) may be more than was asked for.

    What happens in one depends only on its seed, its index among those of that seed, its episode number and the actions
    in it. Tensors lie on `device`.

    To add one, write a class with these members and return it from a task's `make_envs`; `MujocoVecEnv` is one.
    """

    device: torch.device
    """Where observations, inputs and actions are."""
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
    """The task's own termination causes; a step may know more, such as `physics diverged`."""

    def reset(self, *, staggered: bool = False, anew: bool = False) -> Tensor:
        """Begin a new episode in every environment, those at rest included.

        Args:
            staggered: Cut the first episodes short by different amounts, so that the environments of a seed are never
                in step with each other. Otherwise a rollout of a task without early termination shows one moment of the
                episode only, and the policy forgets the others: 0.72 instead of 0.84 fitness on the cart-pole swing-up.
            anew: Count episodes from the first again, so that the same ones begin as after construction.

        Returns:
            The observation, (N, O) float32.
        """
        ...

    def step(self, action: Tensor) -> Step:
        """Apply an action for one control step; where an episode ends the next one begins, those at rest do nothing.

        Args:
            action: (N, A) in actuator units; clipped to their range.
        """
        ...

    def rest(self, which: Tensor) -> None:
        """Simulate some environments no longer, until the next `reset`; no episode ends in them.

        Args:
            which: (N,) bool.
        """
        ...

    def perturb(self, number: int) -> Tensor | None:
        """Go on from states between the present ones and random ones, as if the episodes had begun there.

        Args:
            number: Distinguishes the draws.

        Returns:
            The observation, (N, O) float32; None where states cannot be set.
        """
        ...

    def scripted_policy(self) -> Policy | None:
        """The task's own controller, acting on the present states; None if it has none."""
        ...
