# task: humanoid
# style: eureka
# row: 9
# defect: acos of a cosine that rounding can push slightly above 1
# severity: reject
import torch
from torch import Tensor
from typing import Tuple, Dict


@torch.jit.script
def compute_reward(x_velocity: Tensor, height: Tensor, upright: Tensor, healthy: Tensor, action: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    speed_reward = 1.5 * torch.clamp(x_velocity, -1.0, 5.0)
    tilt = torch.acos(upright)
    tilt_temperature: float = 0.3
    tilt_reward = torch.exp(-tilt / tilt_temperature)
    height_penalty = -3.0 * torch.clamp(1.3 - height, min=0.0)
    alive_reward = 2.0 * healthy
    action_penalty = -0.1 * torch.sum(action ** 2, dim=-1)
    total = speed_reward + tilt_reward + height_penalty + alive_reward + action_penalty
    return total, {"speed": speed_reward, "tilt": tilt_reward, "height": height_penalty, "alive": alive_reward, "action": action_penalty}
