# task: ant
# style: sparse_bonus
# row: 4
# defect: `and` between two boolean tensors
# severity: reject
def compute_reward(x_velocity, y_position, healthy, action):
    """Dense speed and a bonus for running in the lane."""
    dense = x_velocity.clamp(-1.0, 5.0)
    in_lane = y_position.abs() < 1.0
    fast = x_velocity > 1.0
    bonus = 0.5 * (in_lane and fast).float()
    return {"dense": dense, "bonus": bonus, "alive": 0.5 * healthy, "control": -0.1 * action.square().sum(-1)}
