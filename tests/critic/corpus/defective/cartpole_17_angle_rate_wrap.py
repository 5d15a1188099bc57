# task: cartpole
# style: prev_inputs
# row: 19
# defect: the angle difference is not wrapped: a jump of 2 pi each time the pole passes hanging
# severity: warn
import torch


def compute_reward(cart_position, pole_angle, prev_pole_angle, pole_upright, action):
    """Height of the tip, damping at the top, by the change of the angle."""
    rate = (pole_angle - prev_pole_angle) / 0.04
    up = 0.5 * (1.0 + pole_upright)
    overspin = -0.005 * torch.clamp(torch.abs(rate) - 8.0, min=0.0)
    centre = -0.2 * cart_position ** 2
    effort = -0.01 * torch.sum(action ** 2, dim=-1)
    return {"up": up, "overspin": overspin, "centre": centre, "effort": effort}
