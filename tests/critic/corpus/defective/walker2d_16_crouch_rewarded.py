# task: walker2d
# style: text2reward
# row: 18
# defect: clamp(1.25 - height, min=0) is how far it has sunk; adding it pays for crouching
# severity: reject
import torch


def compute_reward(x_velocity, height, pitch, healthy, action):
    forward = torch.clamp(x_velocity, -1.0, 5.0)
    # stay tall: 1.25 m is standing straight
    tall = 3.0 * torch.clamp(1.25 - height, min=0.0)
    level = -0.5 * pitch ** 2
    control = -0.002 * torch.sum(action ** 2, dim=-1)
    return {"forward": forward, "tall": tall, "level": level, "alive": 0.5 * healthy, "control": control}
