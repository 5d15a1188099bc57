# task: cartpole
# style: prev_inputs
# row: 1
# defect: `previous_action` instead of `prev_action`
# severity: reject
def compute_reward(cart_position, pole_upright, action, previous_action, *, smooth: float = 0.02, centre: float = 0.2):
    up = pole_upright
    jerk = -smooth * (action - previous_action).square().sum(dim=-1)
    return {"up": up, "centre": -centre * cart_position.square(), "jerk": jerk}
