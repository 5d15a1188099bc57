# task: walker2d
# style: eureka
import torch
from typing import Tuple, Dict


def compute_reward(x_velocity, prev_x_velocity, pitch, pitch_velocity, foot_position, healthy, action) -> Tuple[torch.Tensor, Dict[str, torch.Tensor]]:
    """Steady walking: fast, but without lurching."""
    rewards: Dict[str, torch.Tensor] = {}
    rewards["forward"] = 1.5 * torch.clamp(x_velocity, -2.0, 4.0)
    rewards["steady"] = -0.05 * torch.clamp(torch.abs(x_velocity - prev_x_velocity), max=2.0)
    rewards["alive"] = 0.8 * healthy
    rewards["tilt"] = -0.5 * torch.abs(pitch)
    rewards["tilt_rate"] = -0.002 * torch.clamp(pitch_velocity ** 2, max=200.0)
    # centre of the support under the torso
    rewards["support"] = 0.2 * torch.exp(-torch.square(foot_position.mean(dim=-1)) / 0.05)
    rewards["control"] = -0.002 * torch.sum(action ** 2, dim=-1)
    total = torch.stack(list(rewards.values())).sum(dim=0)
    return total, rewards
