# task: humanoid
# style: eureka
# row: 18
# defect: 1 - upright is the tilt; it is added as if it were the upright reward
# severity: reject
import torch
from typing import Dict, Tuple


def compute_reward(x_velocity: torch.Tensor, height: torch.Tensor, upright: torch.Tensor, healthy: torch.Tensor, action: torch.Tensor) -> Tuple[torch.Tensor, Dict[str, torch.Tensor]]:
    forward_reward = 1.5 * torch.clamp(x_velocity, -1.0, 5.0)
    upright_reward = 2.0 * (1.0 - upright)
    height_reward = torch.exp(-torch.abs(height - 1.4) / 0.2)
    alive_reward = 2.0 * healthy
    control_penalty = -0.1 * torch.sum(action ** 2, dim=-1)
    total = forward_reward + upright_reward + height_reward + alive_reward + control_penalty
    return total, {
        "forward": forward_reward,
        "upright": upright_reward,
        "height": height_reward,
        "alive": alive_reward,
        "control": control_penalty,
    }
