# task: cartpole
# style: eureka
# row: 22
# defect: the total is halved near the stops after the components were collected
# severity: warn
import torch


def compute_reward(cart_position, pole_upright, pole_velocity, action):
    components = {
        "up": 0.5 * (1.0 + pole_upright),
        "centre": 0.3 * torch.exp(-cart_position ** 2),
        "calm": 0.3 * (pole_upright > 0.85).float() * torch.exp(-pole_velocity.abs() / 3.0),
        "effort": -0.01 * torch.sum(action ** 2, dim=-1),
    }
    total = sum(components.values())
    total = torch.where(cart_position.abs() > 1.0, 0.5 * total, total)
    return total, components
