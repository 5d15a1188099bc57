# task: half_cheetah
# style: compact
import math

import torch

LOG3 = math.log(3.0)


def compute_reward(x_velocity, upright, pitch, action, *, w: float = 1.5, tilt: float = 0.3, cost: float = 0.04):
    assert x_velocity.ndim == 1 and action.ndim == 2
    speed = w * torch.log1p(torch.relu(x_velocity)) / LOG3 - torch.relu(-x_velocity)
    level = tilt * (upright - torch.sin(pitch).square())
    effort = -cost * torch.einsum("ni,ni->n", action, action)
    return {"speed": speed, "level": level, "effort": effort}
