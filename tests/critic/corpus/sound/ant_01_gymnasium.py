# task: ant
# style: compact
def compute_reward(x_velocity, healthy, contact_load, action, *, control_weight: float = 0.5, contact_weight: float = 5e-4):
    """Gymnasium's ant: forward, healthy, control and contact."""
    return {
        "forward": x_velocity,
        "healthy": healthy,
        "control": -control_weight * action.square().sum(-1),
        "contact": -contact_weight * contact_load,
    }
