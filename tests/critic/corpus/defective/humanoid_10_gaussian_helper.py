# task: humanoid
# style: helpers
# row: 10
# defect: the helper lacks the minus sign: exp(+(error / width)^2)
# severity: reject
import torch


def gaussian(error: torch.Tensor, width: float) -> torch.Tensor:
    """A bell curve of the error."""
    return torch.exp(torch.square(error / width))


def compute_reward(x_velocity, y_velocity, height, upright, healthy, action):
    return {
        "speed": 1.5 * x_velocity.clamp(-1.0, 5.0),
        "tall": 0.5 * gaussian(height - 1.4, 0.15),
        "straight": 0.2 * gaussian(y_velocity, 0.5),
        "upright": 0.5 * upright,
        "alive": 2.0 * healthy,
        "effort": -0.1 * action.square().sum(-1),
    }
