# task: hopper
# style: sparse_bonus
# row: 25
# defect: the flight bonus needs a torso above 3 m; the robot is 1.45 m tall
# severity: warn
def compute_reward(x_velocity, height, pitch, healthy, action, *, bonus: float = 2.0):
    """Forward, level, and a bonus for a high hop."""
    return {
        "forward": x_velocity.clamp(-1.0, 5.0),
        "high_hop": bonus * (height > 3.0).float(),
        "level": -2.0 * pitch.square(),
        "alive": 0.5 * healthy,
        "control": -0.001 * action.square().sum(-1),
    }
