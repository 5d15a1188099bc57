# task: hopper
# style: eureka
from typing import Tuple, Dict
import torch
from torch import Tensor


@torch.jit.script
def compute_reward(x_velocity: Tensor, height: Tensor, pitch: Tensor, joint_velocity: Tensor, action: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    # Temperature parameters for the exponentials
    speed_temp: float = 1.5
    height_temp: float = 0.1
    pitch_temp: float = 0.02

    # Forward velocity reward, saturating far above what a hopper reaches
    speed_reward = 3.0 * torch.tanh(torch.clamp(x_velocity, min=-1.0) / (2.0 * speed_temp))

    # Height: do not sink below 1 m
    low = torch.clamp(1.0 - height, min=0.0)
    height_reward = 0.5 * torch.exp(-low * low / height_temp)

    # Torso must stay within 0.2 rad
    pitch_reward = 0.5 * torch.exp(-pitch * pitch / pitch_temp)

    # Energy penalty
    action_penalty = -0.005 * torch.sum(action * action, dim=1)
    joint_penalty = -0.0005 * torch.sum(torch.abs(joint_velocity), dim=1)

    total = speed_reward + height_reward + pitch_reward + action_penalty + joint_penalty
    return total, {
        "speed_reward": speed_reward,
        "height_reward": height_reward,
        "pitch_reward": pitch_reward,
        "action_penalty": action_penalty,
        "joint_penalty": joint_penalty,
    }
