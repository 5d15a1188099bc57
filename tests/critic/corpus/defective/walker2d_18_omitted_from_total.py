# task: walker2d
# style: eureka
# row: 22
# defect: height_reward is logged but missing from the total
# severity: warn
import torch
from torch import Tensor
from typing import Dict, Tuple


@torch.jit.script
def compute_reward(x_velocity: Tensor, height: Tensor, pitch: Tensor, healthy: Tensor, action: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    height_temp: float = 0.1
    pitch_temp: float = 0.3
    velocity_reward = torch.clamp(x_velocity, -1.0, 5.0)
    height_reward = 0.5 * torch.exp(-torch.square(height - 1.25) / height_temp)
    pitch_reward = 0.5 * torch.exp(-torch.square(pitch) / pitch_temp)
    alive_reward = 0.5 * healthy
    control_penalty = -0.002 * torch.sum(action ** 2, dim=-1)
    total_reward = velocity_reward + pitch_reward + alive_reward + control_penalty
    return total_reward, {
        "velocity_reward": velocity_reward,
        "height_reward": height_reward,
        "pitch_reward": pitch_reward,
        "alive_reward": alive_reward,
        "control_penalty": control_penalty,
    }
