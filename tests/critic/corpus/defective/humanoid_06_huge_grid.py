# task: humanoid
# style: functional
# row: 6
# defect: integrates a smooth clamp on a grid of 2 million points for each world
# severity: reject
import torch


def _soft_area(value: torch.Tensor, points: int = 2_000_000) -> torch.Tensor:
    """Area under a sigmoid up to `value`, by the midpoint rule."""
    grid = torch.linspace(0.0, 1.0, points, device=value.device)
    return torch.sigmoid(8.0 * (value[:, None] - grid[None, :])).mean(dim=-1)


def compute_reward(x_velocity, height, upright, healthy, action):
    speed = 1.5 * x_velocity.clamp(-1.0, 5.0)
    standing = 1.0 * _soft_area((height - 1.0) / 0.4) + 0.5 * upright
    return {"speed": speed, "standing": standing, "alive": 2.0 * healthy, "effort": -0.1 * action.square().sum(-1)}
