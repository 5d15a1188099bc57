# task: walker2d
# style: text2reward
# row: 25
# defect: the saturation cost fires for |action| > 1, but actions are clipped to [-1, 1]
# severity: warn
import torch


def compute_reward(x_velocity, pitch, height, healthy, action):
    forward = torch.clamp(x_velocity, -1.0, 5.0)
    posture = -0.5 * pitch ** 2 - 2.0 * torch.clamp(1.05 - height, min=0.0)
    saturated = -0.5 * (torch.abs(action) > 1.0).float().sum(dim=-1)
    return {"forward": forward, "posture": posture, "saturated": saturated, "alive": 0.5 * healthy}
