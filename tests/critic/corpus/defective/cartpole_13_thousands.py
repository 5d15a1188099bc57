# task: cartpole
# style: eureka
# row: 16
# defect: every term is multiplied by thousands: about 5000 per step
# severity: warn
import torch
from torch import Tensor
from typing import Dict, Tuple


@torch.jit.script
def compute_reward(cart_position: Tensor, pole_upright: Tensor, pole_velocity: Tensor, action: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    scale: float = 5000.0
    upright_reward = scale * 0.5 * (pole_upright + 1.0)
    centre_reward = scale * 0.3 * torch.exp(-torch.abs(cart_position))
    still_reward = scale * 0.3 * (pole_upright > 0.85).float() * torch.exp(-torch.abs(pole_velocity) / 3.0)
    effort_penalty = -scale * 0.01 * torch.sum(action ** 2, dim=-1)
    total = upright_reward + centre_reward + still_reward + effort_penalty
    return total, {"upright": upright_reward, "centre": centre_reward, "still": still_reward, "effort": effort_penalty}
