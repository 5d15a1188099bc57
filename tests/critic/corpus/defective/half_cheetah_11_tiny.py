# task: half_cheetah
# style: compact
# row: 16
# defect: everything is divided by the episode's length twice: about 1e-6 per step
# severity: warn
EPISODE_STEPS = 1000.0


def compute_reward(x_velocity, upright, pitch_velocity, action, *, speed: float = 1.0, side: float = 0.5, control: float = 0.05):
    """Normalised so that a whole episode is worth about one."""
    norm = EPISODE_STEPS ** 2
    return {
        "speed": speed * x_velocity / norm,
        "side": side * upright / norm,
        "rock": -0.02 * pitch_velocity.abs() / norm,
        "control": -control * action.square().sum(-1) / norm,
    }
