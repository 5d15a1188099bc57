# task: half_cheetah
# style: comprehension
# row: 8
# defect: the gait clock is the wall clock
# severity: reject
import math
import time

import torch


def compute_reward(x_velocity, upright, joint_velocity, action):
    """Drive the thighs with a clock of 2 Hz."""
    clock = math.sin(2.0 * math.pi * 2.0 * time.time())
    rhythm = 0.1 * torch.tanh(clock * (joint_velocity[:, 0] - joint_velocity[:, 3]) / 5.0)
    return {
        "forward": x_velocity,
        "rhythm": rhythm,
        "upright": 0.5 * upright,
        "control": -0.05 * action.square().sum(-1),
    }
