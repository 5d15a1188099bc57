# task: half_cheetah
# style: compact
# row: 1
# defect: `healthy` exists in the other locomotion tasks, but not here
# severity: reject
def compute_reward(x_velocity, upright, healthy, action, *, forward: float = 1.0, alive: float = 0.3, control: float = 0.05):
    """Forward speed, alive bonus, control cost."""
    return {
        "forward": forward * x_velocity,
        "alive": alive * healthy,
        "upright": 0.5 * upright,
        "control": -control * action.square().sum(-1),
    }
