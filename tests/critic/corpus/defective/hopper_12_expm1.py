# task: hopper
# style: functional
# row: 10
# defect: expm1 of speed and clearance: unbounded growth
# severity: warn
import torch


def compute_reward(x_velocity, pitch, foot_clearance, healthy, action, *, speed_weight: float = 0.5):
    forward = speed_weight * torch.expm1(1.5 * x_velocity)
    flight = 0.1 * (foot_clearance / 0.1).clamp(0.0, 2.0)
    level = -2.0 * pitch.square()
    control = -0.001 * action.square().sum(-1)
    return {"forward": forward, "flight": flight, "level": level, "alive": 0.5 * healthy, "control": control}
