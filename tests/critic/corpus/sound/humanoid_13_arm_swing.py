# task: humanoid
# style: functional
import math

import torch
import torch.nn.functional as F


def compute_reward(x_velocity, height, upright, heading, joint_velocity, action, healthy):
    """Walking with counter-swinging arms."""
    right_hip_y, left_hip_y = joint_velocity[:, 5], joint_velocity[:, 9]
    # legs in opposite phase
    legs = torch.tanh(-right_hip_y * left_hip_y / 10.0)
    speed = 1.5 * F.hardtanh(x_velocity, -1.0, 4.0)
    phase = 0.15 * legs * torch.sigmoid(4.0 * (x_velocity - 0.5))
    upright_term = math.e * 0.3 * torch.exp(-2.0 * (1.0 - upright))
    course = 0.2 * torch.cos(heading)
    tall = -3.0 * F.relu(1.3 - height)
    effort = -0.15 * action.pow(2).sum(-1)
    return {"speed": speed, "phase": phase, "upright": upright_term, "course": course, "tall": tall, "effort": effort, "alive": 2.0 * healthy}
