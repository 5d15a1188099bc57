# task: cartpole
# style: compact
# row: 21
# defect: the tunable `rail_weight` and the input `cart_position` belong to a rail term that is missing
# severity: warn
def compute_reward(cart_position, pole_upright, pole_velocity, action, *, up_weight: float = 1.0, rail_weight: float = 0.5, damping: float = 0.02):
    """Pole up, cart away from the stops, calm at the top."""
    return {
        "up": up_weight * pole_upright,
        "calm": -damping * pole_velocity.abs() * (pole_upright > 0.8),
        "effort": -0.01 * action.square().sum(-1),
    }
