# task: hopper
# style: text2reward
# row: 22
# defect: the dictionary contains the total as well as its parts: everything counts twice
# severity: warn
import torch


def compute_reward(x_velocity, height, pitch, healthy, action):
    forward = torch.clamp(x_velocity, -1.0, 5.0)
    posture = 0.5 * torch.exp(-50.0 * pitch ** 2) - 2.0 * torch.clamp(0.95 - height, min=0.0)
    alive = 0.5 * healthy
    control = -0.001 * torch.sum(action ** 2, dim=-1)
    total = forward + posture + alive + control
    return {"total_reward": total, "forward": forward, "posture": posture, "alive": alive, "control": control}
