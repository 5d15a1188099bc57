# task: ant
# style: eureka
from typing import Dict, Tuple
import torch
from torch import Tensor


@torch.jit.script
def compute_reward(
    x_velocity: Tensor,
    y_velocity: Tensor,
    heading: Tensor,
    upright: Tensor,
    height: Tensor,
    action: Tensor,
) -> Tuple[Tensor, Dict[str, Tensor]]:
    # Forward speed
    forward_reward = 2.0 * torch.clamp(x_velocity, min=-1.0, max=6.0)

    # Heading along +x
    heading_temperature: float = 0.5
    heading_reward = 0.3 * torch.exp(-(1.0 - torch.cos(heading)) / heading_temperature)

    # Upright torso
    upright_temperature: float = 0.3
    upright_reward = 0.3 * torch.exp(-(1.0 - upright) / upright_temperature)

    # Sideways drift
    drift_penalty = -0.2 * torch.abs(y_velocity)

    # Stay well below the termination height of 1 m
    high_penalty = -5.0 * torch.clamp(height - 0.85, min=0.0)

    # Control
    action_penalty = -0.05 * torch.sum(action ** 2, dim=-1)

    total_reward = forward_reward + heading_reward + upright_reward + drift_penalty + high_penalty + action_penalty
    reward_dict = {
        "forward_reward": forward_reward,
        "heading_reward": heading_reward,
        "upright_reward": upright_reward,
        "drift_penalty": drift_penalty,
        "high_penalty": high_penalty,
        "action_penalty": action_penalty,
    }
    return total_reward, reward_dict
