# task: cartpole
# style: quadratic
# row: 10
# defect: cosh of the pole's velocity, up to 5000 at 9 rad/s
# severity: reject
import torch


def compute_reward(cart_position, pole_upright, pole_velocity, action):
    up = pole_upright
    centre = -0.3 * cart_position.square()
    spin = -0.1 * (torch.cosh(pole_velocity) - 1.0)
    effort = -0.01 * action.square().sum(-1)
    return {"up": up, "centre": centre, "spin": spin, "effort": effort}
