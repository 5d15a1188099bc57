# task: humanoid
# style: gated
def _gate(value, threshold, width):
    return torch.sigmoid((value - threshold) / width)


def compute_reward(x_velocity, y_velocity, height, upright, angular_velocity, action, *,
                   height_threshold: float = 1.15, height_width: float = 0.04, upright_threshold: float = 0.8, upright_width: float = 0.05):
    """Standing opens the gate for walking."""
    standing = _gate(height, height_threshold, height_width) * _gate(upright, upright_threshold, upright_width)
    speed_along = x_velocity.clamp(-1.0, 4.0)
    return {
        "standing": 1.5 * standing,
        "walking": 1.5 * standing * speed_along,
        "drift": -0.3 * y_velocity.square().clamp(max=4.0),
        "turning": -0.01 * angular_velocity.square().sum(-1).clamp(max=50.0),
        "effort": -0.15 * action.square().sum(-1),
    }
