# task: cartpole
# style: functional
# row: 18
# defect: the angle's error is measured from hanging (pi), not from upright (0)
# severity: reject
import math

import torch


def compute_reward(cart_position, pole_angle, pole_velocity, action, *, temperature: float = 1.5, centre_weight: float = 0.2):
    """Swing the pole up and hold it."""
    error = math.pi - pole_angle.abs()
    up = torch.exp(-error.square() / temperature)
    calm = 0.3 * up * torch.exp(-pole_velocity.abs() / 3.0)
    centre = -centre_weight * cart_position.square()
    effort = -0.01 * action.square().sum(-1)
    return {"up": up, "calm": calm, "centre": centre, "effort": effort}
