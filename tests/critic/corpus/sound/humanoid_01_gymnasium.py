# task: humanoid
# style: compact
def compute_reward(x_velocity, healthy, contact_load, action, *, forward_weight: float = 1.25, healthy_reward: float = 5.0, control_weight: float = 0.1, contact_weight: float = 5e-7, contact_limit: float = 10.0):
    """Gymnasium's humanoid."""
    return {
        "forward": forward_weight * x_velocity,
        "healthy": healthy_reward * healthy,
        "control": -control_weight * action.square().sum(-1),
        "contact": -(contact_weight * contact_load).clamp(max=contact_limit),
    }
