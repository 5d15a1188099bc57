# task: humanoid
# style: prev_inputs
import torch
from typing import Dict


def compute_reward(
    x_velocity: torch.Tensor,
    upright: torch.Tensor,
    height: torch.Tensor,
    prev_height: torch.Tensor,
    foot_position: torch.Tensor,
    prev_foot_position: torch.Tensor,
    action: torch.Tensor,
    prev_action: torch.Tensor,
    healthy: torch.Tensor,
    *,
    w_speed: float = 1.25,
    w_alive: float = 3.0,
    w_rate: float = 0.3,
    w_sink: float = 5.0,
) -> Dict[str, torch.Tensor]:
    """Walk by moving the feet, without sinking and without jerks."""
    speed = w_speed * torch.clamp(x_velocity, -2.0, 5.0)
    alive = w_alive * healthy
    rate = -w_rate * torch.sum((action - prev_action) ** 2, dim=-1)
    # only sinking costs, rising is free: a one-sided penalty cannot be farmed
    sink = -w_sink * torch.relu(prev_height - height)
    lean = 0.5 * (upright - 1.0)
    foot_motion = torch.abs(foot_position - prev_foot_position).sum(dim=-1) / 0.015
    step = 0.1 * torch.clamp(foot_motion, max=3.0) * torch.clamp(x_velocity, 0.0, 1.0)
    balance = -0.2 * torch.abs(foot_position.mean(dim=-1)) - 0.2 * torch.relu(1.2 - height)
    return {"speed": speed, "alive": alive, "rate": rate, "sink": sink, "lean": lean, "step": step, "balance": balance}
