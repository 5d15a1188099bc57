# task: cartpole
# style: sparse_bonus
# row: 23
# defect: the main term is the hidden fitness itself: within 25 degrees of upright and 1 m of the middle, 1 or 0 per step
# severity: warn
import math

import torch

LIMIT = math.cos(math.radians(25.0))


def compute_reward(cart_position, pole_upright, action):
    held = torch.logical_and(pole_upright > LIMIT, cart_position.abs() < 1.0)
    return {"held": 1.0 * held.float(), "effort": -0.001 * action.square().sum(-1)}
