# task: ant
# style: helpers
# row: 7
# defect: the helper wraps the angle by assignment into the tensor that it was given
# severity: reject
import math

import torch


def wrapped(angle: torch.Tensor) -> torch.Tensor:
    """Angle in (-pi/2, pi/2], folded: facing backwards is as good as forwards."""
    angle[angle > math.pi / 2] -= math.pi
    angle[angle <= -math.pi / 2] += math.pi
    return angle


def compute_reward(x_velocity, y_velocity, heading, upright, healthy, action):
    return {
        "forward": 1.5 * x_velocity,
        "drift": -0.2 * y_velocity.abs(),
        "course": -0.2 * wrapped(heading).square(),
        "upright": 0.3 * upright,
        "alive": 0.5 * healthy,
        "control": -0.1 * action.square().sum(-1),
    }
