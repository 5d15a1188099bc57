# task: cartpole
# style: prev_inputs
# row: 8
# defect: a mutable default argument counts the steps since the pole came up
# severity: reject
import torch


def compute_reward(cart_position, pole_upright, action, *, history=[]):
    history.append(float((pole_upright > 0.9).float().mean()))
    streak = min(len(history), 100) / 100.0
    up = 0.5 * (pole_upright + 1.0)
    hold = 0.5 * streak * (pole_upright > 0.9).float()
    return {"up": up, "hold": hold, "centre": -0.2 * cart_position ** 2, "effort": -0.01 * torch.sum(action ** 2, dim=-1)}
