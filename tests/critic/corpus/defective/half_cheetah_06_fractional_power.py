# task: half_cheetah
# style: compact
# row: 9
# defect: a fractional power of a velocity that can be negative
# severity: reject
def compute_reward(x_velocity, upright, pitch_velocity, action, *, speed_weight: float = 2.0, exponent: float = 0.75):
    """Concave in speed, so that the first m/s are worth most."""
    return {
        "speed": speed_weight * x_velocity ** exponent,
        "upright": 0.5 * upright,
        "rock": -0.02 * pitch_velocity.abs(),
        "control": -0.05 * action.square().sum(-1),
    }
