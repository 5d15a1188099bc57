# task: cartpole
# style: eureka
# row: 4
# defect: builds its weights on a fixed device
# severity: reject
import torch


def compute_reward(cart_position, cart_velocity, pole_upright, pole_velocity, action):
    state = torch.stack([1.0 - pole_upright, cart_position ** 2, 0.1 * pole_velocity ** 2, 0.1 * cart_velocity ** 2], dim=-1)
    weights = torch.tensor([1.0, 0.2, 0.1, 0.1], device="cuda:0")
    cost = (state * weights).sum(dim=-1)
    return {"state": 1.0 - 0.5 * cost.clamp(max=6.0), "effort": -0.01 * action.square().sum(-1)}
