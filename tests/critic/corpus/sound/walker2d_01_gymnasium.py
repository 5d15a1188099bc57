# task: walker2d
# style: compact
def compute_reward(x_velocity, healthy, action, *, forward_weight: float = 1.0, healthy_weight: float = 1.0, control_weight: float = 1e-3):
    """The familiar locomotion reward."""
    return {
        "forward": forward_weight * x_velocity,
        "healthy": healthy_weight * healthy,
        "control": -control_weight * action.square().sum(-1),
    }
