# task: ant
# style: potential
import torch

GAMMA = 0.99
DT = 0.05


def _phi(upright: torch.Tensor, heading: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return 2.0 * upright + torch.cos(heading) - 0.5 * y.abs()


def compute_reward(x_position, prev_x_position, upright, prev_upright, heading, prev_heading, y_position, prev_y_position, action, healthy):
    """Distance along x as the goal; posture, course and lane as a potential."""
    return {
        "distance": (x_position - prev_x_position) / DT,
        "shaping": GAMMA * _phi(upright, heading, y_position) - _phi(prev_upright, prev_heading, prev_y_position),
        "healthy": 0.5 * healthy,
        "control": -0.1 * action.square().sum(-1),
    }
