# task: humanoid
# style: eureka
# row: 7
# defect: out=height overwrites the input with the error
# severity: reject
import torch


def compute_reward(x_velocity, height, upright, healthy, action):
    speed = 1.5 * torch.clamp(x_velocity, -1.0, 5.0)
    error = torch.sub(height, 1.4, out=height)
    tall = torch.exp(-error.abs() / 0.2)
    up = torch.exp(-(1.0 - upright) / 0.2)
    control = -0.1 * action.square().sum(dim=-1)
    return {"speed": speed, "tall": tall, "up": up, "alive": 2.0 * healthy, "control": control}
