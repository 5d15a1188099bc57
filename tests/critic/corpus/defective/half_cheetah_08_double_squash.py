# task: half_cheetah
# style: helpers
# row: 11
# defect: the helper squashes with exp, and what is passed to it is an exp already
# severity: warn
import torch


def squash(value: torch.Tensor, temperature: float = 0.5) -> torch.Tensor:
    """exp(-value / temperature)."""
    return torch.exp(-value / temperature)


def compute_reward(x_velocity, upright, height, action):
    """Speed, right side up, standing height."""
    deviation = squash(1.0 - upright) + squash((height - 0.6).abs(), 0.1)
    posture = squash(2.0 - deviation)
    return {"speed": x_velocity, "posture": posture, "control": -0.05 * action.square().sum(-1)}
