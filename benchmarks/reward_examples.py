"""Rewards as models write them, for the benchmark of a reward call."""

from __future__ import annotations

LOCOMOTION = '''
def compute_reward(x_velocity, height, pitch, joint_velocity, action, prev_action, *, speed_weight: float = 1.0):
    """Run forward, upright and smoothly."""
    speed = speed_weight * x_velocity.clamp(-1.0, 4.0) / 4.0
    upright = tolerance(height, lower=1.1, upper=2.0, margin=0.4) * torch.exp(-(pitch ** 2) / 0.2)
    effort = -0.02 * action.square().mean(-1)
    smooth = -0.05 * (action - prev_action).square().mean(-1)
    quiet = -0.001 * joint_velocity.square().sum(-1)
    return {"speed": speed * upright, "upright": 0.5 * upright, "effort": effort, "smooth": smooth, "quiet": quiet}
'''

REACHING = """
def compute_reward(position, prev_position, target, contact, action):
    before = torch.norm(prev_position - target, p=2, dim=-1)
    distance = torch.norm(position - target, p=2, dim=-1)
    near = torch.exp(-5.0 * distance)
    held = contact > 0.5
    lifted = torch.where(held, torch.clamp(position[:, 2] - 0.1, 0.0, 0.5), torch.zeros_like(distance))
    effort = torch.sum(action ** 2, dim=-1)
    total = near + 10.0 * (before - distance) + 2.0 * lifted - 0.01 * effort
    return total, {"near": near, "progress": 10.0 * (before - distance), "lift": 2.0 * lifted, "effort": -0.01 * effort}
"""

UNWEIGHTED = """
def compute_reward(position, target, contact, action):
    distance = torch.norm(position - target, p=2, dim=-1)
    near = torch.exp(-distance / 0.2)
    above = torch.exp(-torch.abs(position[:, 2] - 0.3) / 0.1)
    touching = torch.sigmoid(8.0 * (contact - 0.5))
    effort = torch.sum(action ** 2, dim=-1)
    total = 2.0 * near + 0.5 * above + touching - 0.01 * effort
    return total, {"near": near, "above": above, "touching": touching, "effort": effort}
"""

NUMPY = """
import numpy as np

def compute_reward(x_velocity, height, pitch, joint_velocity, action):
    speed = np.clip(x_velocity, -1.0, 4.0)
    upright = np.exp(-np.square(height - 1.25) / 0.2) * np.cos(pitch)
    effort = 0.01 * np.sum(np.square(action), axis=-1)
    still = 0.001 * np.sum(np.abs(joint_velocity), axis=-1)
    return {"speed": speed, "upright": np.where(height > 0.7, upright, 0.0), "effort": -effort, "still": -still}
"""

HELPERS = """
WIDTHS = [0.5, 0.2, 0.1]

def bell(x, width):
    return torch.exp(-((x / width) ** 2))

def penalty(x):
    return 0.01 * x.square().sum(-1)

def compute_reward(position, target, joint_velocity, action):
    error = position - target
    near = torch.zeros_like(error[:, 0])
    for axis, width in enumerate(WIDTHS):
        near = near + bell(error[:, axis], width)
    reached = bell(error.norm(dim=-1), 0.05)
    return {"near": near, "reached": reached, "effort": -penalty(action), "quiet": -penalty(joint_velocity)}
"""

EXAMPLES = {
    "dict": LOCOMOTION,
    "tuple": REACHING,
    "unweighted tuple": UNWEIGHTED,
    "numpy": NUMPY,
    "helpers": HELPERS,
}
"""By how it is written. The totals of the two tuples are the sum of their components, and are not."""

FLAT_INPUTS = ("x_velocity", "height", "pitch", "contact")
"""Inputs of the examples of shape (N,); the others are (N, 3)."""
