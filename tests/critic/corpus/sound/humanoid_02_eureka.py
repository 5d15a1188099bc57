# task: humanoid
# style: eureka
from typing import Tuple, Dict
import torch
from torch import Tensor


@torch.jit.script
def compute_reward(
    x_velocity: Tensor,
    y_velocity: Tensor,
    height: Tensor,
    upright: Tensor,
    heading: Tensor,
    joint_velocity: Tensor,
    action: Tensor,
) -> Tuple[Tensor, Dict[str, Tensor]]:
    # temperatures
    height_temp: float = 0.05
    upright_temp: float = 0.2
    heading_temp: float = 0.5
    lateral_temp: float = 0.5

    # move along +x
    speed_reward = 1.5 * torch.clamp(x_velocity, min=-1.0, max=5.0)

    # stay tall: below 1.0 m the episode ends
    height_reward = 1.0 * torch.exp(-torch.square(torch.clamp(1.35 - height, min=0.0)) / height_temp)

    # stay upright
    upright_reward = 1.0 * torch.exp(-(1.0 - upright) / upright_temp)

    # face forward
    heading_reward = 0.3 * torch.exp(-torch.abs(heading) / heading_temp)

    # do not drift
    lateral_reward = 0.2 * torch.exp(-torch.abs(y_velocity) / lateral_temp)

    # effort: actions are within +-0.4
    action_penalty = -0.1 * torch.sum(torch.square(action), dim=-1)
    joint_penalty = -0.0001 * torch.sum(torch.square(joint_velocity), dim=-1)

    total_reward = (
        speed_reward + height_reward + upright_reward + heading_reward + lateral_reward + action_penalty + joint_penalty
    )
    return total_reward, {
        "speed": speed_reward,
        "height": height_reward,
        "upright": upright_reward,
        "heading": heading_reward,
        "lateral": lateral_reward,
        "action": action_penalty,
        "joints": joint_penalty,
    }
