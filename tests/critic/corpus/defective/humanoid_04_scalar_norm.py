# task: humanoid
# style: eureka
# row: 4
# defect: torch.norm without dim gives one number for the whole batch
# severity: reject
import torch
from typing import Dict, Tuple


def compute_reward(x_velocity: torch.Tensor, height: torch.Tensor, upright: torch.Tensor, joint_velocity: torch.Tensor, action: torch.Tensor, healthy: torch.Tensor) -> Tuple[torch.Tensor, Dict[str, torch.Tensor]]:
    velocity_reward = 1.5 * torch.clamp(x_velocity, -1.0, 5.0)
    height_reward = torch.exp(-torch.abs(height - 1.4) / 0.2)
    upright_reward = torch.exp(-(1.0 - upright) / 0.2)
    alive_reward = 2.0 * healthy
    energy_penalty = -0.01 * torch.norm(joint_velocity)
    action_penalty = -0.1 * torch.norm(action, dim=-1)
    total = velocity_reward + height_reward + upright_reward + alive_reward + energy_penalty + action_penalty
    return total, {
        "velocity": velocity_reward,
        "height": height_reward,
        "upright": upright_reward,
        "alive": alive_reward,
        "energy": energy_penalty,
        "action": action_penalty,
    }
