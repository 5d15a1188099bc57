# task: half_cheetah
# style: compact
def compute_reward(x_velocity, action, *, forward_weight: float = 1.0, control_weight: float = 0.1):
    """Forward speed minus control cost."""
    return {"forward": forward_weight * x_velocity, "control": -control_weight * action.square().sum(-1)}
