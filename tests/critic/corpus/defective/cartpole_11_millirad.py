# task: cartpole
# style: dm_control
# row: 13
# defect: margins of 1 mm and 1 mrad: their product is 0 nearly everywhere
# severity: warn
def compute_reward(cart_position, pole_angle, pole_velocity, action):
    """Product of tolerances on top of the height of the tip."""
    precise = tolerance(pole_angle, lower=0.0, upper=0.0, margin=0.001)
    parked = tolerance(cart_position, lower=0.0, upper=0.0, margin=0.001)
    return {
        "height": 0.5 * (1.0 + torch.cos(pole_angle)),
        "precise": 1.0 * precise * parked,
        "damp": -0.01 * pole_velocity.abs() * (pole_angle.abs() < 0.5),
        "effort": -0.01 * action.square().sum(-1),
    }
