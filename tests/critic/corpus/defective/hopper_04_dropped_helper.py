# task: hopper
# style: helpers
# row: 3
# defect: the helper `soft_gate` was dropped on the way
# severity: reject
import torch


def compute_reward(x_velocity, height, pitch, action, *, speed_weight: float = 1.0, stand_weight: float = 0.4):
    posture = soft_gate(height, 0.9, 0.05) * soft_gate(-pitch.abs(), -0.15, 0.02)
    speed = speed_weight * torch.clamp(x_velocity, -1.0, 5.0) * (0.3 + 0.7 * posture)
    effort = -0.001 * action.square().sum(-1)
    return {"speed": speed, "stand": stand_weight * posture, "effort": effort}
