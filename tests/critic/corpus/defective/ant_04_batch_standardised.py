# task: ant
# style: functional
# row: 4
# defect: the speed is standardised with mean and deviation of the batch, so that worlds compete with each other
# severity: reject
import torch


def _standardise(value: torch.Tensor) -> torch.Tensor:
    return (value - value.mean()) / (value.std() + 1e-6)


def compute_reward(x_velocity, y_velocity, upright, healthy, action, *, speed_weight: float = 1.0, drift_weight: float = 0.2):
    speed = speed_weight * _standardise(x_velocity)
    drift = -drift_weight * y_velocity.abs()
    posture = 0.3 * upright
    control = -0.1 * action.square().sum(-1)
    return {"speed": speed, "drift": drift, "posture": posture, "alive": 0.5 * healthy, "control": control}
