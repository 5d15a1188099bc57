# task: cartpole
# style: energy
import torch


def compute_reward(
    cart_position: torch.Tensor,
    cart_velocity: torch.Tensor,
    pole_upright: torch.Tensor,
    pole_velocity: torch.Tensor,
    *,
    energy_temperature: float = 0.8,
    energy_weight: float = 0.4,
    rail_weight: float = 0.5,
) -> dict[str, torch.Tensor]:
    """Energy pumping, then balance.

    The pole is a uniform rod of length L = 0.8 m, so in units of m g L / 2 its energy is
    cos(angle) + (L / 3 g) * velocity^2, which is 1 when it stands at the top.
    """
    length = 0.8
    gravity = 9.81
    energy = pole_upright + length / (3.0 * gravity) * pole_velocity ** 2
    energy_reward = energy_weight * torch.exp(-torch.abs(energy - 1.0) / energy_temperature)
    balance_reward = ((pole_upright + 1.0) / 2.0) ** 3
    rail_penalty = -rail_weight * (cart_position / 1.8) ** 4
    cart_penalty = -0.01 * torch.clamp(cart_velocity ** 2, max=10.0)
    return {
        "energy_reward": energy_reward,
        "balance_reward": balance_reward,
        "rail_penalty": rail_penalty,
        "cart_penalty": cart_penalty,
    }
