# task: humanoid
# style: text2reward
# row: 31
# defect: only rising is paid, sinking is free: bobbing up and down is farmed
# severity: reject
import torch


def compute_reward(x_velocity, height, prev_height, upright, healthy, action):
    forward = 1.25 * torch.clamp(x_velocity, -1.0, 5.0)
    # standing up is progress
    rise = 100.0 * torch.relu(height - prev_height)
    posture = 0.5 * upright
    effort = -0.1 * torch.sum(action ** 2, dim=-1)
    return {"forward": forward, "rise": rise, "posture": posture, "alive": 2.0 * healthy, "effort": effort}
