"""Generalised advantage estimation (Schulman et al. 2016) over rollouts with episode ends."""

from __future__ import annotations

import torch
from torch import Tensor


def generalised_advantages(
    reward: Tensor,
    value: Tensor,
    next_value: Tensor,
    terminated: Tensor,
    done: Tensor,
    discount: float,
    gae_lambda: float,
) -> Tensor:
    """Advantages of a rollout; the value targets are `advantages + value`.

    A terminated episode is worth nothing afterwards; a truncated one would have gone on, so its last step is
    bootstrapped with the value of its final observation. Neither lets the next episode's advantages leak in.

    Args:
        reward: (T, ...) float.
        value: V of the observation acted on, (T, ...).
        next_value: V of the observation after the step and before any reset, (T, ...).
        terminated: Ended by a termination condition, (T, ...) bool.
        done: Terminated or truncated, (T, ...) bool.
        discount: Discount per step.
        gae_lambda: 0 for one-step targets, 1 for full returns.

    Returns:
        Advantages, (T, ...).
    """
    delta = reward + discount * next_value * ~terminated - value
    decay = discount * gae_lambda * ~done
    advantages = torch.empty_like(delta)
    running = torch.zeros_like(delta[0])
    for step in reversed(range(len(delta))):
        running = delta[step] + decay[step] * running
        advantages[step] = running
    return advantages
