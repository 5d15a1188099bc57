# task: hopper
# style: helpers
# row: 21
# defect: `foot_clearance` is declared for a flight term that is defined as a helper but never called
# severity: warn
import torch


def flight_bonus(clearance: torch.Tensor, weight: float = 0.2) -> torch.Tensor:
    """Pays for lifting the foot by up to 20 cm."""
    return weight * torch.clamp(clearance, 0.0, 0.2) / 0.2


def compute_reward(x_velocity, pitch, foot_clearance, healthy, action):
    return {
        "forward": x_velocity.clamp(-1.0, 5.0),
        "level": -2.0 * pitch.square(),
        "alive": 0.5 * healthy,
        "control": -0.001 * action.square().sum(-1),
    }
