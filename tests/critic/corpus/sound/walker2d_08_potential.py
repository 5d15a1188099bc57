# task: walker2d
# style: potential
from typing import Dict
import torch

DISCOUNT = 0.99
DT = 0.008


def posture_potential(height: torch.Tensor, pitch: torch.Tensor) -> torch.Tensor:
    """Higher is better: a tall, level torso."""
    return -4.0 * torch.clamp(1.25 - height, min=0.0) - 2.0 * torch.abs(pitch)


def compute_reward(x_position, prev_x_position, height, prev_height, pitch, prev_pitch, healthy, action) -> Dict[str, torch.Tensor]:
    advance = (x_position - prev_x_position) / DT
    shaping = DISCOUNT * posture_potential(height, pitch) - posture_potential(prev_height, prev_pitch)
    alive = torch.where(healthy > 0.5, 0.5, -1.0)
    effort = -0.002 * torch.sum(action * action, dim=1)
    return {"advance": advance, "shaping": shaping, "alive": alive, "effort": effort}
