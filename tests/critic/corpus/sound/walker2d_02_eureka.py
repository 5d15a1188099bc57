# task: walker2d
# style: eureka
from typing import Dict, Tuple
import torch
from torch import Tensor


@torch.jit.script
def compute_reward(
    x_velocity: Tensor, height: Tensor, pitch: Tensor, pitch_velocity: Tensor,
    foot_position: Tensor, action: Tensor
) -> Tuple[Tensor, Dict[str, Tensor]]:
    device = x_velocity.device

    # Forward progress
    velocity_reward = torch.clamp(x_velocity, -1.0, 5.0)

    # Upright bonus
    upright_temperature: float = 0.3
    upright_reward = 0.5 * torch.exp(-torch.square(pitch) / upright_temperature)

    # Keep the torso near standing height
    height_temperature: float = 0.08
    height_reward = 0.5 * torch.exp(-torch.square(height - 1.25) / height_temperature)

    # Stride: the feet should be apart along x, rather than side by side
    stride = torch.abs(foot_position[:, 0] - foot_position[:, 1])
    stride_temperature: float = 0.3
    stride_reward = 0.3 * (1.0 - torch.exp(-stride / stride_temperature)) * torch.clamp(x_velocity, 0.0, 1.0)

    # Penalties
    torque_penalty = 0.002 * torch.sum(torch.square(action), dim=-1)
    spin_penalty = 0.01 * torch.clamp(torch.abs(pitch_velocity), max=20.0)

    total_reward = velocity_reward + upright_reward + height_reward + stride_reward - torque_penalty - spin_penalty
    components = {
        "velocity_reward": velocity_reward,
        "upright_reward": upright_reward,
        "height_reward": height_reward,
        "stride_reward": stride_reward,
        "torque_penalty": -torque_penalty,
        "spin_penalty": -spin_penalty,
    }
    return total_reward, components
