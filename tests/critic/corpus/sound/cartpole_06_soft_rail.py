# task: cartpole
# style: functional
import torch
import torch.nn.functional as F


def compute_reward(
    cart_position: torch.Tensor,
    pole_upright: torch.Tensor,
    pole_velocity: torch.Tensor,
    action: torch.Tensor,
    *,
    rail_weight: float = 2.0,
    rail_limit: float = 1.0,
    damping_weight: float = 0.03,
) -> dict[str, torch.Tensor]:
    """Smooth swing-up reward with a soft wall at the ends of the rail."""
    height = 0.5 * (1.0 + pole_upright)
    # squared so that the last degrees count more than the first ones
    swing = height.pow(2)
    wall = -rail_weight * F.relu(cart_position.abs() - rail_limit)
    damping = -damping_weight * height.pow(4) * F.smooth_l1_loss(pole_velocity, torch.zeros_like(pole_velocity), reduction="none")
    effort = -0.01 * action.pow(2).mean(dim=-1)
    return {"swing": swing, "wall": wall, "damping": damping, "effort": effort}
