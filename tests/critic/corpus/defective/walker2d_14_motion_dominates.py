# task: walker2d
# style: text2reward
# row: 15
# defect: the joint velocity cost is unscaled (thousands) next to terms of order 1
# severity: warn
import torch


def compute_reward(x_velocity, height, pitch, joint_velocity, healthy, action):
    forward = torch.clamp(x_velocity, -1.0, 5.0)
    posture = 0.5 * torch.exp(-4.0 * pitch ** 2) - 2.0 * torch.clamp(1.05 - height, min=0.0)
    alive = 0.5 * healthy
    motion = -1.0 * torch.sum(joint_velocity ** 2, dim=-1)
    control = -0.002 * torch.sum(action ** 2, dim=-1)
    return {"forward": forward, "posture": posture, "alive": alive, "motion": motion, "control": control}
