# task: hopper
# style: eureka
# row: 4
# defect: keepdim=True makes the penalty (N, 1), so that the total broadcasts to (N, N)
# severity: reject
import torch
from torch import Tensor
from typing import Tuple, Dict


@torch.jit.script
def compute_reward(x_velocity: Tensor, pitch: Tensor, healthy: Tensor, action: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    pitch_temp: float = 0.02
    forward_reward = torch.clamp(x_velocity, -1.0, 5.0)
    pitch_reward = 0.5 * torch.exp(-pitch * pitch / pitch_temp)
    alive_reward = 0.5 * healthy
    action_penalty = -0.001 * torch.sum(action ** 2, dim=-1, keepdim=True)
    total = forward_reward + pitch_reward + alive_reward + action_penalty
    return total, {"forward": forward_reward, "pitch": pitch_reward, "alive": alive_reward, "action": action_penalty}
