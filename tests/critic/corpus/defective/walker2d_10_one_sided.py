# task: walker2d
# style: compact
# row: 10
# defect: the height error has no absolute value and is divided by 0.02, so the exponent is positive below standing height
# severity: reject
def compute_reward(x_velocity, height, pitch, action, *, height_temperature: float = 0.02, effort: float = 0.002):
    """Walk tall."""
    tall = 0.3 * torch.exp(-(height - 1.25) / height_temperature)
    return {
        "forward": x_velocity.clamp(-1.0, 5.0),
        "tall": tall,
        "level": -0.5 * pitch.square(),
        "effort": -effort * action.square().sum(-1),
    }
