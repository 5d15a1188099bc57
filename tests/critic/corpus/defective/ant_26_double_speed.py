# task: ant
# style: text2reward
# row: 24
# defect: counts the speed twice: x_velocity and the norm of the planar velocity, which also pays for going sideways
# severity: warn
import torch


def compute_reward(x_velocity, y_velocity, upright, healthy, action):
    forward = 1.0 * torch.clamp(x_velocity, -1.0, 5.0)
    speed = 1.0 * torch.sqrt(x_velocity ** 2 + y_velocity ** 2 + 1e-6)
    posture = 0.3 * upright
    control = -0.1 * torch.sum(action ** 2, dim=-1)
    return {"forward": forward, "speed": speed, "posture": posture, "alive": 0.5 * healthy, "control": control}
