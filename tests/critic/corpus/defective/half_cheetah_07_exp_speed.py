# task: half_cheetah
# style: eureka
# row: 10
# defect: exp with a positive argument: grows with speed without bound
# severity: reject
import torch
from torch import Tensor
from typing import Dict, Tuple


@torch.jit.script
def compute_reward(x_velocity: Tensor, upright: Tensor, action: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    velocity_temp: float = 0.8
    forward_reward = torch.exp(x_velocity / velocity_temp) - 1.0
    upright_temp: float = 0.5
    upright_reward = torch.exp((upright - 1.0) / upright_temp)
    control_penalty = -0.05 * torch.sum(action ** 2, dim=-1)
    total = forward_reward + upright_reward + control_penalty
    return total, {"forward": forward_reward, "upright": upright_reward, "control": control_penalty}
