# task: cartpole
# style: compact
# row: 4
# defect: the effort component keeps the action's last axis: (N, 1)
# severity: reject
def compute_reward(cart_position, pole_upright, pole_velocity, action, *, centre: float = 0.2, effort: float = 0.01):
    return {
        "up": pole_upright,
        "centre": -centre * cart_position.square(),
        "spin": -0.01 * pole_velocity.square() * (pole_upright > 0.7),
        "effort": -effort * action ** 2,
    }
