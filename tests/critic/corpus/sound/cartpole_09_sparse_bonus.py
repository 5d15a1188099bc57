# task: cartpole
# style: sparse_bonus
import math

import torch

UPRIGHT_LIMIT = math.radians(18.0)
CENTRE_LIMIT = 0.7


def compute_reward(cart_position, pole_angle, pole_velocity, *, bonus: float = 1.0, dense: float = 0.5):
    """A bonus per step spent up and central, and a dense term that leads there."""
    up = pole_angle.abs() < UPRIGHT_LIMIT
    central = cart_position.abs() < CENTRE_LIMIT
    bonus_reward = bonus * torch.logical_and(up, central).to(pole_angle.dtype)
    dense_reward = dense * torch.cos(pole_angle)
    edge = -((cart_position.abs() - CENTRE_LIMIT).clamp(min=0.0) ** 2)
    overspin = -0.05 * (pole_velocity.abs() - 7.0).clamp(min=0.0) ** 2
    return {"bonus": bonus_reward, "dense": dense_reward, "edge": edge, "overspin": overspin}
