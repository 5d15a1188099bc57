# task: half_cheetah
# style: eureka
# row: 21
# defect: `upright` is declared and never used: the term for the right side was forgotten
# severity: warn
import torch
from torch import Tensor
from typing import Dict, Tuple


@torch.jit.script
def compute_reward(x_velocity: Tensor, upright: Tensor, pitch_velocity: Tensor, height: Tensor, action: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    forward_reward = torch.clamp(x_velocity, -2.0, 12.0)
    rock_penalty = -0.02 * torch.abs(pitch_velocity)
    belly_penalty = -1.0 * torch.clamp(0.35 - height, min=0.0)
    control_penalty = -0.05 * torch.sum(action ** 2, dim=-1)
    total = forward_reward + rock_penalty + belly_penalty + control_penalty
    return total, {"forward": forward_reward, "rock": rock_penalty, "belly": belly_penalty, "control": control_penalty}
