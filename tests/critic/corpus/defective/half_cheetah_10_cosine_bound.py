# task: half_cheetah
# style: functional
# row: 14
# defect: `upright >= -1` holds for every cosine
# severity: warn
import torch


def compute_reward(x_velocity, upright, pitch_velocity, action, *, side_weight: float = 0.5, speed_weight: float = 1.0):
    """Run right side up."""
    right_side_up = side_weight * (upright >= -1.0).float()
    speed = speed_weight * x_velocity.clamp(-2.0, 12.0)
    rock = -0.02 * pitch_velocity.abs().clamp(max=8.0)
    control = -0.05 * action.square().sum(-1)
    return {"right_side_up": right_side_up, "speed": speed, "rock": rock, "control": control}
