def missing_swing(ball_offset, ball_velocity, cup_position, floor, energy_goal, energy_share):
    """Angle from above the cup, more where energy to rise is missing too; 0 in the cup."""
    x = ball_offset[:, 0].abs()
    z = ball_offset[:, 1] + floor
    angle = torch.atan2(x + 1e-4, z) / math.pi
    height = ball_offset[:, 1] + cup_position[:, 1]
    energy = 9.81 * height + 0.5 * (ball_velocity * ball_velocity).sum(-1)
    lacking = torch.clamp((energy_goal - energy) / (energy_goal + 3.4), 0.0, 1.2)
    return angle * (1.0 + energy_share * lacking)


def compute_reward(ball_offset, ball_velocity, cup_position,
                   prev_ball_offset, prev_ball_velocity, prev_cup_position, action, *,
                   swing_weight: float = 4.0, caught_weight: float = 1.0,
                   floor: float = 0.06, energy_goal: float = 1.8, energy_share: float = 1.5,
                   side_margin: float = 0.05, above_margin: float = 0.12,
                   below_margin: float = 0.025, effort_weight: float = 0.01):
    """Swing the ball up above the cup, catch it and keep it in."""
    before = missing_swing(prev_ball_offset, prev_ball_velocity, prev_cup_position,
                           floor, energy_goal, energy_share)
    now = missing_swing(ball_offset, ball_velocity, cup_position,
                        floor, energy_goal, energy_share)
    swing = swing_weight * (before - now)

    x = ball_offset[:, 0]
    z = ball_offset[:, 1]
    over = tolerance(x, lower=-0.02, upper=0.02, margin=side_margin)
    from_above = tolerance(z, lower=-0.02, upper=0.02, margin=above_margin)
    from_below = tolerance(z, lower=-0.02, upper=0.02, margin=below_margin)
    inside = ((x.abs() < 0.025) & (z.abs() < 0.025)).float()
    soft = over * torch.where(z > 0.0, from_above, from_below)
    caught = caught_weight * (0.3 * soft + 0.7 * inside)

    effort = -effort_weight * action.square().mean(-1)
    return {"swing": swing, "caught": caught, "effort": effort}
