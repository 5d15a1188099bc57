# task: hopper
# style: gated
# row: 31
# defect: progress counts in the air only, and going back on the ground is free: swaying with small hops is farmed
# severity: warn
def compute_reward(x_position, prev_x_position, foot_clearance, pitch, healthy, action, *, progress_weight: float = 1.0):
    """A hop is progress made in flight."""
    progress = (x_position - prev_x_position) / 0.008
    airborne = (foot_clearance > 0.01).float()
    return {
        "hop": progress_weight * airborne * progress.clamp(min=0.0),
        "level": -2.0 * pitch.square(),
        "alive": 0.5 * healthy,
        "control": -0.001 * action.square().sum(-1),
    }
