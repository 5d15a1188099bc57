# task: half_cheetah
# style: eureka
import torch
from torch import Tensor
from typing import Dict, Tuple


@torch.jit.script
def compute_reward(x_velocity: Tensor, upright: Tensor, pitch_velocity: Tensor, action: Tensor, prev_action: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    # forward speed is the objective, only counted fully when right side up
    facing = torch.clamp(upright, min=0.0)
    forward_reward = torch.clamp(x_velocity, -2.0, 12.0) * (0.2 + 0.8 * facing)

    # right side up
    upright_temp: float = 0.5
    upright_reward = 0.5 * torch.exp((upright - 1.0) / upright_temp)

    # pitching rate
    pitch_rate_temp: float = 5.0
    pitch_rate_reward = 0.2 * torch.exp(-torch.abs(pitch_velocity) / pitch_rate_temp)

    # smooth control
    action_rate_penalty = -0.02 * torch.sum(torch.square(action - prev_action), dim=-1)

    total_reward = forward_reward + upright_reward + pitch_rate_reward + action_rate_penalty

    return total_reward, {
        "forward_reward": forward_reward,
        "upright_reward": upright_reward,
        "pitch_rate_reward": pitch_rate_reward,
        "action_rate_penalty": action_rate_penalty,
    }
