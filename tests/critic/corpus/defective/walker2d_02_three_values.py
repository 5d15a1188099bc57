# task: walker2d
# style: eureka
# row: 2
# defect: returns three values (total, components, reset flags)
# severity: reject
from typing import Dict, Tuple
import torch
from torch import Tensor


def compute_reward(x_velocity: Tensor, height: Tensor, pitch: Tensor, action: Tensor) -> Tuple[Tensor, Dict[str, Tensor], Tensor]:
    velocity_reward = torch.clamp(x_velocity, -1.0, 5.0)
    upright_reward = 0.5 * torch.exp(-torch.square(pitch) / 0.2)
    height_reward = 0.5 * torch.exp(-torch.square(height - 1.25) / 0.1)
    control_penalty = -0.002 * torch.sum(action ** 2, dim=-1)
    total = velocity_reward + upright_reward + height_reward + control_penalty
    reset = (height < 0.8) | (torch.abs(pitch) > 1.0)
    components = {
        "velocity": velocity_reward,
        "upright": upright_reward,
        "height": height_reward,
        "control": control_penalty,
    }
    return total, components, reset
