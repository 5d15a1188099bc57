# task: ant
# style: text2reward
# row: 16
# defect: 1000 x speed^3 and weights to match: ten thousands per step
# severity: warn
import torch


def compute_reward(x_velocity, y_velocity, upright, healthy, action):
    forward = 1000.0 * torch.clamp(x_velocity, min=0.0) ** 3
    drift = -300.0 * torch.abs(y_velocity)
    posture = 500.0 * upright
    alive = 500.0 * healthy
    control = -100.0 * torch.sum(action ** 2, dim=-1)
    return {"forward": forward, "drift": drift, "posture": posture, "alive": alive, "control": control}
