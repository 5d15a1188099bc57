def longtail(error, width):
    """1 at no error, a half at `width`, a slope everywhere."""
    return 1.0 / (1.0 + error.clamp(min=0.0) / width)


def compute_reward(upright, clearance, velocity, angular_velocity, hip_velocity, knee_velocity,
                   action, prev_action, *,
                   lying_weight: float = 1.2, jerk_weight: float = 0.05,
                   step_cos: float = -0.82, step_width: float = 0.03,
                   wide_clearance: float = 0.5, tight_clearance: float = 0.05,
                   wide_motion: float = 4.0, body_limit: float = 0.3, joint_limit: float = 0.6):
    """One product: over x down x still, every factor wide and steep at once."""
    # over: the angle from the first lean, and a step within the limit of 37 degrees
    angle = torch.acos(upright.clamp(-0.999, 0.999)) / math.pi
    step = torch.sigmoid((step_cos - upright) / step_width)
    over = 0.5 * angle + 0.5 * step

    # down: from the height of a jump, and in contact
    gap = clearance - 0.02
    down = 0.5 * longtail(gap, wide_clearance) + 0.5 * longtail(gap, tight_clearance)

    # still: under full noise, and in units of the limits
    body = velocity.norm(dim=-1) + angular_velocity.norm(dim=-1)
    speeds = torch.cat([hip_velocity, knee_velocity], dim=-1).abs()
    joint_speed = 0.5 * speeds.mean(-1) + 0.5 * speeds.amax(dim=-1)
    wide = longtail(body + 0.5 * joint_speed, wide_motion)
    tight = longtail(0.5 * (body / body_limit + joint_speed / joint_limit), 1.0)
    still = 0.5 * wide + 0.5 * tight

    lying = lying_weight * over * down * still
    jerk = -jerk_weight * (0.25 * (action - prev_action).square().mean(-1)).clamp(0.0, 1.0)
    return {"lying": lying, "jerk": jerk}
