# task: ant
# style: eureka
# row: 11
# defect: the total of unbounded terms goes through exp(total / temperature)
# severity: warn
import torch
from torch import Tensor
from typing import Dict, Tuple


@torch.jit.script
def compute_reward(x_velocity: Tensor, heading: Tensor, upright: Tensor, action: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    total_temperature: float = 2.0
    velocity_reward = 1.5 * x_velocity
    heading_reward = 0.3 * torch.exp(-torch.abs(heading) / 0.5)
    upright_reward = 0.3 * upright
    control_penalty = -0.1 * torch.sum(action ** 2, dim=-1)
    raw = velocity_reward + heading_reward + upright_reward + control_penalty
    total_reward = torch.exp(raw / total_temperature)
    return total_reward, {"total": total_reward}
