# task: ant
# style: functional
# row: 19
# defect: rotates velocities that are given in the world's frame once more by the heading: rewards the body's forward direction, not +x
# severity: warn
import torch


def compute_reward(x_velocity, y_velocity, heading, upright, healthy, action, *, speed_weight: float = 1.5, slip_weight: float = 0.2):
    """Forward speed along +x, little slip."""
    along = x_velocity * torch.cos(heading) + y_velocity * torch.sin(heading)
    across = -x_velocity * torch.sin(heading) + y_velocity * torch.cos(heading)
    return {
        "speed": speed_weight * along.clamp(-1.0, 5.0),
        "slip": -slip_weight * across.abs(),
        "posture": 0.3 * upright,
        "alive": 0.5 * healthy,
        "control": -0.1 * action.square().sum(-1),
    }
