# task: humanoid
# style: eureka
import torch
from typing import Tuple, Dict
from torch import Tensor


def compute_reward(x_velocity: Tensor, y_velocity: Tensor, height: Tensor, upright: Tensor, contact_load: Tensor, healthy: Tensor, action: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    """Eureka-style walking reward for the humanoid."""
    # --- Task ---
    target_speed = 3.0
    speed_error = torch.clamp(target_speed - x_velocity, min=0.0)
    speed_temperature = 2.0
    r_speed = 3.0 * torch.exp(-speed_error / speed_temperature)

    # --- Balance ---
    r_upright = torch.clamp(upright, 0.0, 1.0)
    r_height = torch.exp(-torch.abs(height - 1.4) / 0.2)
    r_alive = 2.0 * healthy

    # --- Costs ---
    c_lateral = 0.3 * torch.clamp(torch.abs(y_velocity), max=3.0)
    c_action = 0.1 * torch.sum(action ** 2, dim=-1)
    c_contact = 0.2 * torch.tanh(contact_load / 1e6)

    total = r_speed + r_upright + r_height + r_alive - c_lateral - c_action - c_contact
    info = {
        "speed": r_speed,
        "upright": r_upright,
        "height": r_height,
        "alive": r_alive,
        "lateral": -c_lateral,
        "action": -c_action,
        "contact": -c_contact,
    }
    return total, info
