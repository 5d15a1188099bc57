# task: cartpole
# style: helpers
# row: 19
# defect: the angle is wrapped to [0, 2 pi), so that leaning slightly to the left counts as 6.2 rad away
# severity: warn
import math

import torch


def wrap(angle: torch.Tensor) -> torch.Tensor:
    """Distance to upright in radians."""
    return torch.remainder(angle, 2.0 * math.pi)


def compute_reward(cart_position, pole_angle, pole_velocity, action):
    error = wrap(pole_angle)
    up = torch.exp(-error / 1.0)
    calm = 0.3 * up * torch.exp(-pole_velocity.abs() / 3.0)
    return {"up": up, "calm": calm, "centre": -0.2 * cart_position.square(), "effort": -0.01 * action.square().sum(-1)}
