# task: ant
# style: eureka
import torch
from typing import Dict, Tuple


def compute_reward(x_velocity: torch.Tensor, prev_x_velocity: torch.Tensor, upright: torch.Tensor, heading: torch.Tensor, healthy: torch.Tensor, action: torch.Tensor) -> Tuple[torch.Tensor, Dict[str, torch.Tensor]]:
    velocity_component = 1.5 * x_velocity
    acceleration_component = -0.02 * torch.clamp(torch.abs(x_velocity - prev_x_velocity) / 0.05, max=20.0)
    posture_component = 0.5 * torch.pow(torch.clamp(upright, min=0.0), 2)
    course_component = 0.3 * torch.cos(heading)
    alive_component = 0.5 * healthy
    control_component = -0.1 * torch.sum(torch.square(action), dim=-1)

    components = {
        "velocity": velocity_component,
        "acceleration": acceleration_component,
        "posture": posture_component,
        "course": course_component,
        "alive": alive_component,
        "control": control_component,
    }
    total = sum(components.values())
    return total, components
