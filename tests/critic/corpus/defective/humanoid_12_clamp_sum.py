# task: humanoid
# style: eureka
# row: 12
# defect: speed and survival share a minimum with 2, which survival alone reaches, so that speed never counts
# severity: warn
import torch
from typing import Dict


def compute_reward(x_velocity: torch.Tensor, height: torch.Tensor, upright: torch.Tensor, healthy: torch.Tensor, action: torch.Tensor) -> Dict[str, torch.Tensor]:
    task_reward = torch.clamp(2.5 * healthy + 1.5 * torch.clamp(x_velocity, min=0.0), max=2.0)
    upright_reward = torch.exp(-(1.0 - upright) / 0.2)
    height_penalty = -3.0 * torch.clamp(1.3 - height, min=0.0)
    action_penalty = -0.1 * torch.sum(action ** 2, dim=-1)
    return {"task": task_reward, "upright": upright_reward, "height": height_penalty, "action": action_penalty}
