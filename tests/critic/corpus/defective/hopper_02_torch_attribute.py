# task: hopper
# style: functional
# row: 1
# defect: torch has no function `norm_squared`
# severity: reject
import torch
import torch.nn.functional as F


def compute_reward(x_velocity, pitch, healthy, joint_velocity, action):
    forward = F.leaky_relu(x_velocity, 0.5)
    level = 0.5 * torch.exp(-pitch.abs() / 0.1)
    motion = -1e-4 * torch.norm_squared(joint_velocity, dim=-1)
    control = -1e-3 * action.square().sum(-1)
    return {"forward": forward, "level": level, "motion": motion, "control": control, "healthy": 0.5 * healthy}
