# task: cartpole
# style: dm_control
def compute_reward(cart_position, pole_upright, pole_velocity, action):
    """dm_control's smooth cart-pole reward: a product of four factors, each in [0, 1]."""
    upright = (pole_upright + 1) / 2
    centered = (1 + tolerance(cart_position, lower=0.0, upper=0.0, margin=2.0)) / 2
    small_control = (4 + tolerance(action[:, 0], lower=0.0, upper=0.0, margin=1.0)) / 5
    small_velocity = (1 + tolerance(pole_velocity, lower=0.0, upper=0.0, margin=5.0)) / 2
    return {"swing_up": upright * small_control * small_velocity * centered}
