# task: ant
# style: eureka
# row: 1
# defect: uses the name `torso_velocity`, which is neither an input nor defined
# severity: reject
import torch
from torch import Tensor
from typing import Tuple, Dict


@torch.jit.script
def compute_reward(x_velocity: Tensor, y_velocity: Tensor, upright: Tensor, action: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    forward_reward = 1.5 * x_velocity
    lateral_temp: float = 0.5
    lateral_reward = 0.3 * torch.exp(-torch.abs(torso_velocity[:, 1]) / lateral_temp)
    drift_penalty = -0.1 * torch.abs(y_velocity)
    upright_reward = 0.5 * torch.clamp(upright, min=0.0)
    control_penalty = -0.1 * torch.sum(action ** 2, dim=-1)
    total = forward_reward + lateral_reward + drift_penalty + upright_reward + control_penalty
    return total, {
        "forward": forward_reward,
        "lateral": lateral_reward,
        "drift": drift_penalty,
        "upright": upright_reward,
        "control": control_penalty,
    }
