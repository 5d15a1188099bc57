# task: hopper
# style: eureka
# row: 14
# defect: the alive reward is ones_like, the same in every state
# severity: warn
import torch
from torch import Tensor
from typing import Dict, Tuple


@torch.jit.script
def compute_reward(x_velocity: Tensor, pitch: Tensor, action: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    forward_reward = torch.clamp(x_velocity, -1.0, 5.0)
    alive_reward = 0.5 * torch.ones_like(x_velocity)
    pitch_temp: float = 0.05
    pitch_reward = 0.5 * torch.exp(-torch.square(pitch) / pitch_temp)
    control_penalty = -0.001 * torch.sum(action ** 2, dim=-1)
    total = forward_reward + alive_reward + pitch_reward + control_penalty
    return total, {"forward": forward_reward, "alive": alive_reward, "pitch": pitch_reward, "control": control_penalty}
