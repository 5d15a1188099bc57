AXLE_X = 0.2
AXLE_Z = 0.4
HALF = 0.09


def body_gap(fingertip, spinner_angle, reach):
    """Distance between the fingertip's middle and the body's core line, less about their radii."""
    rx = fingertip[:, 0] - AXLE_X
    rz = fingertip[:, 2] - AXLE_Z
    ux = -torch.sin(spinner_angle)
    uz = torch.cos(spinner_angle)
    t = torch.clamp(rx * ux + rz * uz, -HALF, HALF)
    d = torch.sqrt((rx - t * ux).square() + (rz - t * uz).square() + 1e-6)
    return torch.clamp(d - reach, 0.0, 0.7)


def compute_reward(distance, prev_distance, angle_to_target, prev_angle_to_target,
                   spinner_angle, prev_spinner_angle, spinner_velocity,
                   fingertip, prev_fingertip, action, *,
                   progress_weight: float = 12.0, gap_share: float = 1.2, contact_reach: float = 0.1,
                   step_bound: float = 4.0, inside_margin: float = 0.015,
                   hold_weight: float = 1.0, still_share: float = 0.3, still_margin: float = 4.0,
                   effort_weight: float = 0.01):
    """Change of what is missing, and one large term in the end state."""
    inside = tolerance(distance, lower=-1.0, upper=-0.005, margin=inside_margin)
    prev_inside = tolerance(prev_distance, lower=-1.0, upper=-0.005, margin=inside_margin)

    gap = body_gap(fingertip, spinner_angle, contact_reach)
    prev_gap = body_gap(prev_fingertip, prev_spinner_angle, contact_reach)
    missing = angle_to_target.abs() + gap_share * gap * (1.0 - inside)
    prev_missing = prev_angle_to_target.abs() + gap_share * prev_gap * (1.0 - prev_inside)
    progress = torch.clamp(progress_weight * (prev_missing - missing), -step_bound, step_bound)

    still = tolerance(spinner_velocity, margin=still_margin)
    hold = hold_weight * inside * (1.0 - still_share + still_share * still)

    effort = -effort_weight * action.square().mean(-1)
    return {"progress": progress, "hold": hold, "effort": effort}
