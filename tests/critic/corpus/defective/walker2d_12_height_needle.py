# task: walker2d
# style: eureka
# row: 13
# defect: height temperature 1e-6 m^2: zero but within 2 mm of 1.4 m
# severity: warn
import torch
from torch import Tensor
from typing import Dict, Tuple


@torch.jit.script
def compute_reward(x_velocity: Tensor, height: Tensor, pitch: Tensor, healthy: Tensor, action: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    height_temp: float = 0.000001
    pitch_temp: float = 0.3
    speed_reward = torch.clamp(x_velocity, -1.0, 5.0)
    height_reward = 1.0 * torch.exp(-torch.square(height - 1.4) / height_temp)
    pitch_reward = 0.5 * torch.exp(-torch.square(pitch) / pitch_temp)
    alive_reward = 0.5 * healthy
    action_penalty = -0.002 * torch.sum(action ** 2, dim=-1)
    total = speed_reward + height_reward + pitch_reward + alive_reward + action_penalty
    return total, {
        "speed": speed_reward,
        "height": height_reward,
        "pitch": pitch_reward,
        "alive": alive_reward,
        "action": action_penalty,
    }
