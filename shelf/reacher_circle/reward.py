def compute_reward(
    tip,
    tip_velocity,
    action,
    *,
    speed: float = 1.5,
    narrow: float = 0.25,
    wide_weight: float = 0.4,
    narrow_weight: float = 0.6,
    effort_weight: float = 0.03,
):
    """Move the fingertip along the tangent of its circle at one constant speed."""
    x = tip[:, 0]
    y = tip[:, 1]
    r = torch.sqrt(x * x + y * y + 1e-6)
    tangential = (x * tip_velocity[:, 1] - y * tip_velocity[:, 0]) / r
    radial = (x * tip_velocity[:, 0] + y * tip_velocity[:, 1]) / r
    error = torch.sqrt((tangential - speed).square() + radial.square() + 1e-8) / speed
    wide = torch.exp(-error)
    close = torch.exp(-(error / narrow).square())
    circle = wide_weight * wide + narrow_weight * close
    effort = -effort_weight * action.square().mean(-1)
    return {"circle": circle, "effort": effort}
