# task: cartpole
# style: energy
# row: 9
# defect: sqrt(1 - cos^2) without a floor: NaN when rounding makes the cosine exceed 1
# severity: warn
import torch


def compute_reward(cart_position, pole_upright, pole_velocity, action):
    """Height of the tip, distance of the tip from the cart's vertical, calm at the top."""
    sideways = torch.sqrt(1.0 - pole_upright ** 2)
    height = 0.5 * (pole_upright + 1.0)
    calm = 0.3 * height * torch.exp(-pole_velocity.abs() / 3.0)
    near = 0.2 * height * (1.0 - sideways)
    return {"height": height, "near": near, "calm": calm, "centre": -0.2 * cart_position.square(), "effort": -0.01 * action.square().sum(-1)}
