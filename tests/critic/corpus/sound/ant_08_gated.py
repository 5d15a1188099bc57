# task: ant
# style: gated
def compute_reward(x_velocity, y_velocity, upright, height, action, *,
                   tilt_temperature: float = 0.2, speed_weight: float = 1.0, slip_weight: float = 0.5, effort_weight: float = 0.05):
    """Progress gated by posture, sideways motion paid relative to the whole speed."""
    gate = torch.exp(-(1.0 - upright) / tilt_temperature) * ((height > 0.3) & (height < 0.9)).float()
    speed = torch.hypot(x_velocity, y_velocity)
    direction = x_velocity / (speed + 0.1)
    return {
        "progress": speed_weight * x_velocity.clamp(-1.0, 6.0) * (0.5 + 0.5 * gate),
        "direction": slip_weight * direction * gate,
        "gate": 0.3 * gate,
        "effort": -effort_weight * action.square().sum(-1),
    }
