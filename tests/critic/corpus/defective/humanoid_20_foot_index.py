# task: humanoid
# style: text2reward
# row: 20
# defect: foot_clearance[:, 2] does not exist: there are two feet
# severity: reject
import torch


def compute_reward(x_velocity, height, upright, foot_clearance, healthy, action):
    forward = 1.5 * torch.clamp(x_velocity, -1.0, 5.0)
    right, left = foot_clearance[:, 1], foot_clearance[:, 2]
    step = 0.3 * torch.clamp(torch.maximum(right, left), 0.0, 0.1) / 0.1 * torch.clamp(x_velocity, 0.0, 1.0)
    posture = 0.5 * upright - 3.0 * torch.clamp(1.3 - height, min=0.0)
    effort = -0.1 * torch.sum(action ** 2, dim=-1)
    return {"forward": forward, "step": step, "posture": posture, "alive": 2.0 * healthy, "effort": effort}
