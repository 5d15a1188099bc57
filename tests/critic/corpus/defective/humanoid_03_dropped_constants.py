# task: humanoid
# style: helpers
# row: 3
# defect: the module constants WEIGHTS and TEMPERATURES are missing
# severity: reject
import torch
from torch import Tensor


def bump(error: Tensor, temperature: float) -> Tensor:
    """1 at zero error, falling to 0."""
    return torch.exp(-error.abs() / temperature)


def compute_reward(x_velocity: Tensor, height: Tensor, upright: Tensor, heading: Tensor, action: Tensor) -> dict:
    terms = {
        "speed": x_velocity.clamp(-1.0, 4.0),
        "tall": bump(height - 1.4, TEMPERATURES["tall"]),
        "upright": bump(1.0 - upright, TEMPERATURES["upright"]),
        "course": bump(heading, TEMPERATURES["course"]),
        "effort": -action.square().sum(-1),
    }
    return {name: WEIGHTS[name] * value for name, value in terms.items()}
