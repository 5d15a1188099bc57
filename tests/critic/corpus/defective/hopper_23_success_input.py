# task: hopper
# style: sparse_bonus
# row: 23
# defect: asks for the success of the episode as an input
# severity: reject
def compute_reward(x_velocity, pitch, healthy, success, action, *, bonus: float = 10.0):
    """Dense speed and a large bonus on success."""
    return {
        "forward": x_velocity.clamp(-1.0, 5.0),
        "success": bonus * success.float(),
        "level": -2.0 * pitch.square(),
        "alive": 0.5 * healthy,
        "control": -0.001 * action.square().sum(-1),
    }
