# task: walker2d
# style: text2reward
# row: 4
# defect: `.mean()` without dim averages the effort over the whole batch
# severity: reject
import torch


def compute_reward(x_velocity, height, pitch, joint_velocity, healthy, action):
    # forward motion
    forward = torch.clamp(x_velocity, -1.0, 4.0)
    # posture
    posture = 0.5 * torch.exp(-4.0 * pitch ** 2) - 2.0 * torch.clamp(1.05 - height, min=0.0)
    # effort
    effort = -0.01 * (action ** 2).mean()
    effort = effort * torch.ones_like(x_velocity)
    # joint motion
    motion = -1e-4 * torch.clamp((joint_velocity ** 2).sum(dim=-1), max=3000.0)
    return {"forward": forward, "posture": posture, "effort": effort, "motion": motion, "alive": 0.5 * healthy}
