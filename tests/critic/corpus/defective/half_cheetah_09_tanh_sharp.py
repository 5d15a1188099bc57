# task: half_cheetah
# style: compact
# row: 12
# defect: tanh(10 v) is flat beyond 0.3 m/s, whereas the task asks for more than 2
# severity: warn
def compute_reward(x_velocity, upright, pitch_velocity, action, *, sharpness: float = 10.0, speed_weight: float = 2.0):
    """Bounded speed reward, right side up."""
    return {
        "speed": speed_weight * torch.tanh(sharpness * x_velocity),
        "upright": 0.5 * upright,
        "rock": -0.02 * pitch_velocity.abs(),
        "control": -0.05 * action.square().sum(-1),
    }
