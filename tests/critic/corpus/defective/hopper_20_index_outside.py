# task: hopper
# style: compact
# row: 20
# defect: joint_position has 3 columns; index 4 is the Walker's left knee
# severity: reject
def compute_reward(x_velocity, pitch, joint_position, healthy, action, *, bend: float = 0.2):
    """Forward and level, with a bent knee."""
    knee = joint_position[:, 4]
    return {
        "forward": x_velocity.clamp(-1.0, 5.0),
        "knee": -bend * (knee + 0.6).square(),
        "level": -2.0 * pitch.square(),
        "alive": 0.5 * healthy,
        "control": -0.001 * action.square().sum(-1),
    }
