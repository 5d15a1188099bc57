# task: hopper
# style: compact
def compute_reward(x_velocity, healthy, action):
    """Forward speed, one per step for staying healthy, a small price for control."""
    return {"forward": x_velocity, "healthy": 1.0 * healthy, "control": -1e-3 * action.square().sum(-1)}
