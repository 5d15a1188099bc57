# task: cartpole
# style: sparse_bonus
# row: 25
# defect: the bonus asks for an angle above 170, in degrees, of a variable in radians
# severity: warn
import torch


def compute_reward(cart_position, pole_angle, pole_upright, pole_velocity, action):
    dense = pole_upright
    swung_past = 1.0 * (torch.abs(pole_angle) > 170.0).float() * (pole_velocity.abs() > 1.0).float()
    centre = -0.2 * cart_position ** 2
    effort = -0.01 * torch.sum(action ** 2, dim=-1)
    return {"dense": dense, "swung_past": swung_past, "centre": centre, "effort": effort}
