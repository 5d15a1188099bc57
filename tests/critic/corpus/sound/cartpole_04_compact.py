# task: cartpole
# style: compact
def compute_reward(cart_position, pole_upright, pole_velocity, action, *, up: float = 1.0, centre: float = 0.2, spin: float = 0.01, effort: float = 0.01):
    """Pole up, cart in the middle, no wild spinning, little force."""
    return {
        "up": up * pole_upright,
        "centre": -centre * cart_position.square(),
        "spin": -spin * pole_velocity.square() * (pole_upright > 0.7),
        "effort": -effort * action.square().sum(-1),
    }
