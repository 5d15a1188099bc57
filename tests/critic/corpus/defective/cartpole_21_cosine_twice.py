# task: cartpole
# style: functional
# row: 24
# defect: pole_upright is the cosine of pole_angle: `up` and `height` are one term twice
# severity: warn
import torch


def compute_reward(cart_position, pole_angle, pole_upright, pole_velocity, action):
    up = 0.5 * pole_upright
    height = 0.5 * torch.cos(pole_angle)
    calm = -0.02 * pole_velocity.abs() * (pole_upright > 0.8)
    centre = -0.2 * cart_position.square()
    effort = -0.01 * action.square().sum(-1)
    return {"up": up, "height": height, "calm": calm, "centre": centre, "effort": effort}
