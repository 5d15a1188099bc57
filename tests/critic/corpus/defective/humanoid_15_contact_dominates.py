# task: humanoid
# style: compact
# row: 15
# defect: the ant's contact weight on the humanoid's contact_load, which goes up to millions
# severity: warn
def compute_reward(x_velocity, healthy, contact_load, upright, action, *, forward_weight: float = 1.25, alive: float = 3.0, control_weight: float = 0.1, contact_weight: float = 5e-4):
    """Forward, healthy, control and contact."""
    return {
        "forward": forward_weight * x_velocity,
        "healthy": alive * healthy,
        "upright": 0.5 * upright,
        "control": -control_weight * action.square().sum(-1),
        "contact": -contact_weight * contact_load,
    }
