def _around(x, y, gx, gy, s, tip_x, corner_x, way_y):
    """Length of the way to the goal around the wing on side s (+1 or -1)."""
    h = s * y
    to_tip = torch.sqrt((x - tip_x) ** 2 + (h - way_y) ** 2 + 1e-6)
    to_corner = torch.sqrt((x - corner_x) ** 2 + (h - way_y) ** 2 + 1e-6)
    last = torch.sqrt((gx - corner_x) ** 2 + (s * gy - way_y) ** 2 + 1e-6)
    # 0 inside the pocket, 1 beside and above the wing
    past = ((h - 0.56) / 0.16).clamp(0.0, 1.0)
    return (1.0 - past) * (to_tip + corner_x - tip_x) + past * to_corner + last


def _way_left(position, to_goal, tip_x, corner_x, way_y):
    x = position[:, 0]
    y = position[:, 1]
    gx = x + to_goal[:, 0]
    gy = y + to_goal[:, 1]
    around = torch.minimum(_around(x, y, gx, gy, 1.0, tip_x, corner_x, way_y),
                           _around(x, y, gx, gy, -1.0, tip_x, corner_x, way_y))
    straight = torch.sqrt(to_goal[:, 0] ** 2 + to_goal[:, 1] ** 2 + 1e-6)
    return torch.where(x > 0.56, straight, around)


def compute_reward(position, prev_position, to_goal, prev_to_goal, velocity, distance, *,
                   there_weight: float = 1.0, goal_radius: float = 0.1, goal_margin: float = 0.15,
                   moving_share: float = 0.7, slow_speed: float = 0.1, slow_margin: float = 0.5,
                   lead_weight: float = 2.5,
                   tip_x: float = -0.24, corner_x: float = 0.65, way_y: float = 0.78):
    """Be at the goal; a small pay for each piece of the free way leads there."""
    left = _way_left(position, to_goal, tip_x, corner_x, way_y)
    prev_left = _way_left(prev_position, prev_to_goal, tip_x, corner_x, way_y)
    lead = (lead_weight * (prev_left - left)).clamp(-0.4, 0.4)

    speed = torch.sqrt(velocity[:, 0] ** 2 + velocity[:, 1] ** 2 + 1e-6)
    slow = tolerance(speed, lower=0.0, upper=slow_speed, margin=slow_margin)
    near = tolerance(distance, lower=0.0, upper=goal_radius, margin=goal_margin)
    there = there_weight * near * (moving_share + (1.0 - moving_share) * slow)
    return {"there": there, "lead": lead}
