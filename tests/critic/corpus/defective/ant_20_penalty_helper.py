# task: ant
# style: helpers
# row: 18
# defect: the helper `penalty` is negative already, and the drift and tilt terms subtract it: they pay
# severity: reject
import torch


def penalty(value: torch.Tensor, weight: float) -> torch.Tensor:
    """A cost: never positive."""
    return -weight * torch.abs(value)


def compute_reward(x_velocity, y_velocity, upright, heading, healthy, action):
    forward = 1.5 * torch.clamp(x_velocity, -1.0, 5.0)
    drift = penalty(y_velocity, 0.4)
    tilt = penalty(1.0 - upright, 0.5)
    course = penalty(torch.sin(heading / 2.0), 0.3)
    control = penalty(action, 0.05).sum(dim=-1)
    return {"forward": forward, "drift": -drift, "tilt": -tilt, "course": course, "alive": 0.5 * healthy, "control": control}
