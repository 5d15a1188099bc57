def compute_reward(turns, prev_turns, upright, height, velocity, spin, com, foot_down, leg_down, thigh_down, torso_down, action, *,
                   turning_gain: float = 20.0, aloft_weight: float = 0.4, landed_weight: float = 0.7, settle_weight: float = 0.6,
                   turn_margin: float = 0.45, effort_weight: float = 0.01):
    """Turn backwards once in flight, then stand: smooth terms with wide basins."""
    back = -turns
    prev_back = -prev_turns
    clear = (1.0 - thigh_down) * (1.0 - torso_down)
    air = clear * (1.0 - foot_down) * (1.0 - leg_down)

    # nearness to one turn, falling again beyond it
    near = (1.0 - (back - 1.0).abs()).clamp(-0.5, 1.0)
    prev_near = (1.0 - (prev_back - 1.0).abs()).clamp(-0.5, 1.0)
    step = near - prev_near
    paid = torch.where(back > 0.75, clear, air)
    turning = (turning_gain * torch.where(step > 0.0, step * paid, step)).clamp(-1.0, 1.0)

    # high while turned, in flight: asks for a jump that leaves time to turn
    inverted = torch.sigmoid((back - 0.25) / 0.06) * torch.sigmoid((0.85 - back) / 0.06)
    aloft = aloft_weight * air * inverted * ((com[:, 2] - 0.2) / 0.8).clamp(0.0, 1.0)

    # one turn, the torso up and high, wide
    one = tolerance(back, lower=0.92, upper=1.08, margin=turn_margin)
    posture = ((1.0 + upright) / 2.0).clamp(0.0, 1.0) * tolerance(height, lower=1.0, upper=1.4, margin=0.7)
    landed = landed_weight * one * posture * clear

    # at rest on the foot
    rest = tolerance(velocity.norm(dim=-1), lower=0.0, upper=0.3, margin=1.5) * tolerance(spin[:, 1], lower=-0.4, upper=0.4, margin=4.0)
    settle = settle_weight * one * posture * clear * rest * (0.3 + 0.7 * foot_down)

    effort = -effort_weight * action.square().mean(-1)
    return {"turning": turning, "aloft": aloft, "landed": landed, "settle": settle, "effort": effort}
