# task: ant
# style: gated
# row: 12
# defect: sigmoid of speed centred at -1 m/s: saturated in the whole range that matters
# severity: warn
import torch


def compute_reward(x_velocity, y_velocity, upright, healthy, action, *, slope: float = 6.0, middle: float = -1.0, speed_weight: float = 3.0):
    speed = speed_weight * torch.sigmoid(slope * (x_velocity - middle))
    drift = -0.2 * y_velocity.abs()
    posture = 0.3 * upright.clamp(min=0.0)
    control = -0.05 * action.square().sum(-1)
    return {"speed": speed, "drift": drift, "posture": posture, "alive": 0.5 * healthy, "control": control}
