# task: hopper
# style: prev_inputs
import torch
from typing import Dict


def compute_reward(
    x_velocity: torch.Tensor,
    pitch: torch.Tensor,
    pitch_velocity: torch.Tensor,
    action: torch.Tensor,
    prev_action: torch.Tensor,
    healthy: torch.Tensor,
    *,
    velocity_weight: float = 1.5,
    alive_weight: float = 0.6,
    rate_weight: float = 0.01,
    rotation_weight: float = 0.02,
) -> Dict[str, torch.Tensor]:
    """Hop forward with smooth actions.

    Components:
        velocity: main objective, positive when moving along +x.
        alive: keeps the episode going.
        action_rate: penalises bang-bang control.
        rotation: penalises fast tipping, more so when already tipped that way.
    """
    velocity = velocity_weight * torch.tanh(x_velocity / 3.0) * 2.0
    alive = alive_weight * healthy
    action_rate = -rate_weight * torch.sum(torch.square(action - prev_action), dim=-1)
    falling = torch.relu(pitch * pitch_velocity)
    rotation = -rotation_weight * (pitch_velocity.abs() + 5.0 * falling).clamp(max=20.0)
    return {"velocity": velocity, "alive": alive, "action_rate": action_rate, "rotation": rotation}
