# task: hopper
# style: prev_inputs
# row: 24
# defect: progress per step and velocity are the same quantity
# severity: warn
def compute_reward(x_position, prev_x_position, x_velocity, pitch, healthy, action, *, progress_weight: float = 1.0, velocity_weight: float = 1.0):
    """Progress, velocity, level torso."""
    return {
        "progress": progress_weight * (x_position - prev_x_position) / 0.008,
        "velocity": velocity_weight * x_velocity,
        "level": -2.0 * pitch.square(),
        "alive": 0.5 * healthy,
        "control": -0.001 * action.square().sum(-1),
    }
