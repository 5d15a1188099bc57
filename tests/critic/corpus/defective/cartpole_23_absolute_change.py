# task: cartpole
# style: prev_inputs
# row: 31
# defect: pays for the absolute change of the pole's height: swinging for ever is worth more than holding
# severity: reject
def compute_reward(cart_position, pole_upright, prev_pole_upright, action, *, change_weight: float = 10.0):
    """Swing up (the height must change), then hold."""
    return {
        "swing": change_weight * (pole_upright - prev_pole_upright).abs(),
        "up": 0.5 * (1.0 + pole_upright),
        "centre": -0.2 * cart_position.square(),
        "effort": -0.01 * action.square().sum(-1),
    }
