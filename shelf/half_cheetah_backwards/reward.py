def compute_reward(
    speed,
    pitch,
    pitch_rate,
    torso_down,
    action,
    *,
    top_speed: float = 9.0,
    tilted_speed: float = 3.0,
    level_upper: float = 0.35,
    level_margin: float = 0.8,
    righting_gain: float = 3.0,
    rate_margin: float = 5.0,
    chase_weight: float = 1.5,
    righting_weight: float = 0.15,
    floor_weight: float = 0.15,
    effort_weight: float = 0.02,
):
    """Follow the speed and the pitch rate that would be right in this state."""
    level = tolerance(pitch, lower=-level_upper, upper=level_upper, margin=level_margin)
    wanted = tilted_speed + (top_speed - tilted_speed) * level
    backwards = -speed
    # |wanted - 0| - |wanted - backwards|: 0 at rest, wanted at the wanted speed, linear between
    gained = wanted - (wanted - backwards).abs()
    chase = chase_weight * (gained / top_speed).clamp(-1.0, 1.0)

    wanted_rate = (-righting_gain * pitch).clamp(-4.0, 4.0)
    close = tolerance(pitch_rate - wanted_rate, margin=rate_margin)
    moving = (backwards / 2.0).clamp(0.0, 1.0)
    righting = righting_weight * close * moving

    grounded = -floor_weight * torso_down
    effort = -effort_weight * action.square().mean(-1)
    return {"chase": chase, "righting": righting, "grounded": grounded, "effort": effort}
