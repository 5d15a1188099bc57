# task: hopper
# style: prev_inputs
# row: 9
# defect: cosine between successive actions without eps: NaN for a zero action
# severity: reject
def compute_reward(x_velocity, pitch, healthy, action, prev_action, *, steady: float = 0.05):
    """Forward and level, with actions that keep their direction."""
    cosine = (action * prev_action).sum(-1) / (action.norm(dim=-1) * prev_action.norm(dim=-1))
    return {
        "forward": x_velocity,
        "level": -2.0 * pitch.square(),
        "steady": steady * cosine,
        "alive": 0.5 * healthy,
        "effort": -0.001 * action.square().sum(-1),
    }
