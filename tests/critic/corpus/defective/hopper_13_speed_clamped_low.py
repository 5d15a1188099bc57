# task: hopper
# style: text2reward
# row: 12
# defect: the speed is clamped at 0.3 m/s, where a hopper has only begun to move
# severity: warn
import torch


def compute_reward(x_velocity, height, pitch, healthy, action):
    forward = 3.0 * torch.clamp(x_velocity, 0.0, 0.3)
    posture = 0.5 * torch.exp(-torch.abs(pitch) / 0.1) * torch.clamp((height - 0.7) / 0.5, 0.0, 1.0)
    control = -0.001 * torch.sum(action ** 2, dim=-1)
    return {"forward": forward, "posture": posture, "alive": 0.5 * healthy, "control": control}
