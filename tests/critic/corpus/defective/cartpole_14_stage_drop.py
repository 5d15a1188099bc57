# task: cartpole
# style: text2reward
# row: 17
# defect: entering the balancing stage replaces up to 2 of reward by about 0.5
# severity: warn
import torch


def compute_reward(cart_position, pole_angle, pole_upright, pole_velocity, action):
    # Stage 1: swing up
    swing = 2.0 * (1.0 + pole_upright) / 2.0
    # Stage 2: balance
    balance = 0.5 * torch.exp(-torch.abs(pole_velocity) / 2.0) + 0.3 * torch.exp(-cart_position ** 2)
    up = torch.abs(pole_angle) < 0.4
    stage = torch.where(up, balance, swing)
    rail = -torch.clamp(torch.abs(cart_position) - 1.2, min=0.0)
    effort = -0.005 * torch.sum(action ** 2, dim=-1)
    return {"stage": stage, "rail": rail, "effort": effort}
