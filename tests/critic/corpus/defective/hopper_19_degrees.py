# task: hopper
# style: text2reward
# row: 19
# defect: pitch is in radians; dividing by 15 treats it as degrees, so that the term is 1 everywhere
# severity: warn
import torch


def compute_reward(x_velocity, height, pitch, healthy, action):
    forward = torch.clamp(x_velocity, -1.0, 5.0)
    # lean less than 15 degrees
    level = 1.0 * torch.exp(-torch.abs(pitch) / 15.0)
    crouch = -2.0 * torch.clamp(0.95 - height, min=0.0)
    control = -0.001 * torch.sum(action ** 2, dim=-1)
    return {"forward": forward, "level": level, "crouch": crouch, "alive": 0.5 * healthy, "control": control}
