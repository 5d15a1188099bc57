# task: humanoid
# style: text2reward
# row: 21
# defect: the uprightness is computed and overwritten by the height before it is used
# severity: warn
import torch


def compute_reward(x_velocity, y_velocity, height, upright, healthy, action):
    forward = 1.5 * torch.clamp(x_velocity, -1.0, 5.0)
    # posture: upright ...
    posture = torch.exp(-(1.0 - upright) / 0.2)
    # ... and tall
    posture = torch.exp(-torch.abs(height - 1.4) / 0.2)
    drift = -0.2 * torch.abs(y_velocity)
    effort = -0.1 * torch.sum(action ** 2, dim=-1)
    return {"forward": forward, "posture": posture, "drift": drift, "alive": 2.0 * healthy, "effort": effort}
