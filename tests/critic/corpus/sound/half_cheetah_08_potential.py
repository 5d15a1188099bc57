# task: half_cheetah
# style: potential
import torch

GAMMA = 0.99


def phi(upright, height):
    return 3.0 * upright + torch.clamp(height, 0.0, 0.8)


def compute_reward(x_velocity, upright, height, prev_upright, prev_height, action):
    forward = torch.where(upright > 0.0, x_velocity, torch.clamp(x_velocity, max=0.0))
    shaping = GAMMA * phi(upright, height) - phi(prev_upright, prev_height)
    effort = -0.1 * torch.sum(torch.square(action), dim=-1)
    return {"forward": forward, "shaping": shaping, "effort": effort}
