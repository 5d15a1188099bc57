# task: humanoid
# style: eureka
# row: 22
# defect: the total uses weights, the dictionary has the unweighted terms
# severity: warn
import torch
from typing import Dict, Tuple


def compute_reward(x_velocity: torch.Tensor, height: torch.Tensor, upright: torch.Tensor, healthy: torch.Tensor, action: torch.Tensor) -> Tuple[torch.Tensor, Dict[str, torch.Tensor]]:
    speed = torch.clamp(x_velocity, -1.0, 5.0)
    tall = torch.exp(-torch.abs(height - 1.4) / 0.2)
    up = torch.exp(-(1.0 - upright) / 0.2)
    effort = torch.sum(action ** 2, dim=-1)
    total = 1.5 * speed + 0.5 * tall + 0.5 * up + 2.0 * healthy - 0.1 * effort
    return total, {"speed": speed, "tall": tall, "up": up, "alive": healthy, "effort": effort}
