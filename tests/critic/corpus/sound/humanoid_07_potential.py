# task: humanoid
# style: potential
import torch

DISCOUNT = 0.99
STEP_SECONDS = 0.015


def standing_potential(height: torch.Tensor, upright: torch.Tensor) -> torch.Tensor:
    """In [0, 1]; 1 when standing straight."""
    return torch.clamp(height / 1.4, 0.0, 1.0) * torch.clamp(upright, 0.0, 1.0)


def compute_reward(x_position, prev_x_position, height, prev_height, upright, prev_upright, healthy, action):
    speed = (x_position - prev_x_position) / STEP_SECONDS
    shaping = 10.0 * (DISCOUNT * standing_potential(height, upright) - standing_potential(prev_height, prev_upright))
    alive = 2.0 * healthy
    control = -0.1 * torch.sum(torch.square(action), dim=-1)
    return {"speed": speed.clamp(-5.0, 5.0), "shaping": shaping, "alive": alive, "control": control}
