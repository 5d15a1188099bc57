# task: cartpole
# style: quadratic
def compute_reward(cart_position, cart_velocity, pole_angle, pole_velocity, action):
    """LQR-like quadratic cost, bounded by 1 / (1 + cost) so that far states keep a gradient."""
    assert cart_position.dim() == 1
    assert action.shape[-1] == 1
    cost = (
        2.0 * pole_angle ** 2
        + 0.5 * cart_position ** 2
        + 0.02 * cart_velocity ** 2
        + 0.02 * pole_velocity ** 2
        + 0.02 * action.squeeze(-1) ** 2
    )
    return {"state_cost": 1.0 / (1.0 + 0.25 * cost), "angle_cost": -0.1 * pole_angle ** 2}
