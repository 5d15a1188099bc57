def compute_reward(
    com,
    com_velocity,
    upright,
    pitch,
    pitch_rate,
    foot,
    foot_down,
    leg_down,
    thigh_down,
    torso_down,
    action,
    *,
    hop_weight: float = 1.0,
    apex: float = 1.3,
    gravity: float = 9.81,
    power: float = 1.5,
    stance_share: float = 0.5,
    steer_weight: float = 0.1,
    return_rate: float = 1.0,
    drift_margin: float = 1.0,
    righting_rate: float = 4.0,
    spin_margin: float = 5.0,
    lean_from: float = 0.2,
    lean_to: float = 0.9,
    effort_weight: float = 0.01,
    home_weight: float = 0.2,
    home_room: float = 0.1,
    home_margin: float = 0.5,
    foot_offset: float = 0.11,
    under_margin: float = 0.4,
):
    """Closeness to the velocity that each state asks for: a ballistic jump to the apex, back to x = 0, back to upright."""
    fallen = torch.maximum(torch.maximum(leg_down, thigh_down), torso_down)
    balanced = ((upright - lean_from) / (lean_to - lean_from)).clamp(0.0, 1.0) * (1.0 - fallen)

    z = com[:, 2]
    vz = com_velocity[:, 2]
    target = (2.0 * gravity * (apex - z).clamp(min=0.0) + 0.01).sqrt()
    air = 1.0 - foot_down
    speed = torch.where(air > 0.5, vz.abs(), vz.clamp(min=0.0))
    near = (speed / target.clamp(min=1.0)).clamp(0.001, 1.0).pow(power)
    high = ((z - 0.6) / (apex - 0.6)).clamp(0.0, 1.2)
    flight = torch.maximum(near, high * air)

    want_x = (-return_rate * com[:, 0]).clamp(-0.5, 0.5)
    along = tolerance(com_velocity[:, 0] - want_x, lower=-0.1, upper=0.1, margin=drift_margin)
    want_spin = (-righting_rate * pitch).clamp(-3.0, 3.0)
    turning = tolerance(pitch_rate - want_spin, lower=-0.5, upper=0.5, margin=spin_margin)

    share = stance_share + (1.0 - stance_share) * air
    hop = hop_weight * flight * share * balanced * (0.3 + 0.7 * along)
    steer = steer_weight * balanced * (0.2 + 0.4 * along + 0.4 * turning)
    near_start = tolerance(com[:, 0], lower=-home_room, upper=home_room, margin=home_margin)
    under = tolerance(com[:, 0] - foot[:, 0] + foot_offset, lower=-0.1, upper=0.1, margin=under_margin)
    home = home_weight * balanced * near_start * (0.4 + 0.6 * under) * (0.3 + 0.7 * air)
    effort = -effort_weight * action.square().mean(-1)
    return {"hop": hop, "steer": steer, "home": home, "effort": effort}
