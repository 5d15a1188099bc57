# task: cartpole
# style: potential
GAMMA = 0.99


def _potential(upright, velocity):
    # Normalised mechanical energy of the pole: 1 is just enough to stand at the top.
    energy = upright + velocity ** 2 / 36.8
    return -(energy - 1.0).abs().clamp(max=3.0)


def compute_reward(cart_position, pole_upright, pole_velocity, prev_pole_upright, prev_pole_velocity):
    """Sparse-like objective (being up and near the middle) with potential-based shaping of the energy."""
    objective = (pole_upright - 0.8).clamp(min=0.0) * 5.0 * torch.exp(-(cart_position ** 2))
    shaping = GAMMA * _potential(pole_upright, pole_velocity) - _potential(prev_pole_upright, prev_pole_velocity)
    rail = -0.5 * (cart_position.abs() > 1.5).float()
    return {"objective": objective, "shaping": shaping, "rail": rail}
