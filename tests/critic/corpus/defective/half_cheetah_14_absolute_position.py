# task: half_cheetah
# style: compact
# row: 19
# defect: rewards the absolute position (m) at every step instead of its change: depends on where the world's origin lies
# severity: warn
def compute_reward(x_position, upright, pitch_velocity, action, *, far: float = 0.1, side: float = 0.5, control: float = 0.05):
    """Get as far as possible, right side up."""
    return {
        "far": far * x_position,
        "side": side * upright,
        "rock": -0.02 * pitch_velocity.abs(),
        "control": -control * action.square().sum(-1),
    }
