# task: cartpole
# style: eureka
from typing import Dict, Tuple

import torch
from torch import Tensor


@torch.jit.script
def compute_reward(
    cart_position: Tensor,
    pole_upright: Tensor,
    pole_velocity: Tensor,
    action: Tensor,
) -> Tuple[Tensor, Dict[str, Tensor]]:
    # Temperatures of the exponential transforms
    position_temp: float = 1.0
    velocity_temp: float = 4.0

    # Main objective: the pole should point up
    upright_reward = 0.5 * (pole_upright + 1.0)

    # Stay near the middle of the rail
    centre_reward = 0.3 * torch.exp(-torch.abs(cart_position) / position_temp)

    # Once the pole is up, it should also be still
    near_top = (pole_upright > 0.85).float()
    still_reward = 0.5 * near_top * torch.exp(-torch.abs(pole_velocity) / velocity_temp)

    # Mild regularisation
    effort_penalty = -0.01 * torch.sum(action ** 2, dim=-1)

    total_reward = upright_reward + centre_reward + still_reward + effort_penalty
    reward_components: Dict[str, Tensor] = {
        "upright_reward": upright_reward,
        "centre_reward": centre_reward,
        "still_reward": still_reward,
        "effort_penalty": effort_penalty,
    }
    return total_reward, reward_components
