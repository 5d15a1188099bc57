def compute_reward(to_box, to_goal, distance, box_velocity, action, *,
                   near_weight: float = 0.9, slope_part: float = 0.35,
                   slope_width: float = 0.28, peak_width: float = 0.045,
                   pace_weight: float = 0.6, top_speed: float = 0.2,
                   brake_length: float = 0.04, bearing_weight: float = 0.25,
                   bearing_sharp: float = 0.12, touch_weight: float = 0.15,
                   touch_margin: float = 0.2, goal_width: float = 0.03,
                   effort_weight: float = 0.002):
    """One bounded term for each value of the steady push and of the end state."""
    goal_xy = to_goal[:, :2]
    box_xy = to_box[:, :2]
    box_v = box_velocity[:, :2]
    d = goal_xy.square().sum(-1).add(1e-8).sqrt()
    direction = goal_xy / (d + 1e-3).unsqueeze(-1)
    across = torch.stack([-direction[:, 1], direction[:, 0]], dim=-1)

    # where the box is
    slope = torch.clamp(1.0 - distance / slope_width, 0.0, 1.0)
    peak = tolerance(distance, 0.0, 0.0, margin=peak_width)
    near = near_weight * (slope_part * slope + (1.0 - slope_part) * peak)

    # how it moves: along the way at a braking pace, not across
    wanted = top_speed * torch.tanh(d / brake_length)
    off_along = (box_v * direction).sum(-1) - wanted
    off_across = (box_v * across).sum(-1)
    off = (off_along.square() + off_across.square() + 1e-8).sqrt()
    pace = pace_weight * torch.clamp(1.0 - off / top_speed, -1.5, 1.0)

    # where the hand is, as angle and distance about the box, until it is there
    there = tolerance(distance, 0.0, 0.005, margin=goal_width)
    reach = box_xy.square().sum(-1).add(1e-6).sqrt()
    cosine = torch.clamp((box_xy * direction).sum(-1) / reach, -1.0, 1.0)
    turned = 0.5 + 0.5 * cosine
    aligned = 0.5 * turned + 0.5 * torch.exp(-(1.0 - cosine) / bearing_sharp)
    bearing = bearing_weight * (there + (1.0 - there) * aligned)
    touching = tolerance(reach, 0.0, 0.08, margin=touch_margin) * turned.square()
    touch = touch_weight * (there + (1.0 - there) * touching)

    effort = -effort_weight * action.square().mean(-1)
    return {"near": near, "pace": pace, "bearing": bearing, "touch": touch,
            "effort": effort}
