# task: humanoid
# style: eureka
# row: 11
# defect: exp of a sum that contains an exp
# severity: warn
import torch
from typing import Dict, Tuple


def compute_reward(x_velocity: torch.Tensor, height: torch.Tensor, upright: torch.Tensor, healthy: torch.Tensor, action: torch.Tensor) -> Tuple[torch.Tensor, Dict[str, torch.Tensor]]:
    speed_reward = 1.5 * torch.clamp(x_velocity, -1.0, 5.0)
    height_reward = torch.exp(-torch.abs(height - 1.4) / 0.2)
    posture_reward = torch.exp(height_reward + upright - 2.0)
    alive_reward = 2.0 * healthy
    action_penalty = -0.1 * torch.sum(action ** 2, dim=-1)
    total = speed_reward + posture_reward + alive_reward + action_penalty
    return total, {"speed": speed_reward, "posture": posture_reward, "alive": alive_reward, "action": action_penalty}
