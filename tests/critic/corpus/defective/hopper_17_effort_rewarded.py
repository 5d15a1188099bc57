# task: hopper
# style: compact
# row: 18
# defect: the control cost enters with a plus sign: bang-bang actions are paid
# severity: reject
def compute_reward(x_velocity, pitch, healthy, action, *, speed: float = 1.0, alive: float = 0.5, control_cost: float = 0.3):
    """Forward, healthy, level, with little control."""
    return {
        "speed": speed * x_velocity.clamp(-1.0, 5.0),
        "alive": alive * healthy,
        "level": -2.0 * pitch.square(),
        "control": control_cost * action.square().sum(-1),
    }
