def compute_reward(to_middle, distance, ball_velocity, tilt, tilt_velocity, action, *,
                   near_weight: float = 0.4, rim: float = 0.4,
                   steer_weight: float = 0.4, horizon: float = 0.5, roll: float = 7.0,
                   tilt_lead: float = 0.08, miss_width: float = 0.15,
                   settle_weight: float = 0.4, settle_margin: float = 0.12, slow_margin: float = 0.4,
                   calm_weight: float = 0.04, effort_weight: float = 0.02):
    """Bring the ball to the middle of the plate and keep it there."""
    # Stage 1: on the plate, the nearer the better.
    near = near_weight * (1.0 - torch.clamp(distance / rim, 0.0, 1.0))

    # Stage 2: while on the plate, the forecast of the ball lies in the middle.
    on_plate = tolerance(distance, lower=0.0, upper=0.36, margin=0.08)
    lead = torch.clamp(tilt + tilt_lead * tilt_velocity, -0.45, 0.45)
    accel = roll * torch.stack([lead[:, 1], -lead[:, 0]], dim=-1)
    place = -to_middle[:, :2]
    ahead = place + horizon * ball_velocity[:, :2] + 0.5 * horizon * horizon * accel
    miss = torch.sqrt(ahead.square().sum(-1) + 1e-8)
    steer = steer_weight * on_plate * torch.exp(-miss / miss_width)

    # Stage 3: close and slow.
    speed = torch.sqrt(ball_velocity.square().sum(-1) + 1e-8)
    close = tolerance(distance, lower=0.0, upper=0.03, margin=settle_margin)
    slow = tolerance(speed, lower=0.0, upper=0.06, margin=slow_margin)
    settle = settle_weight * close * (0.4 + 0.6 * slow)

    rate = torch.sqrt(tilt_velocity.square().sum(-1) + 1e-8)
    calm = -calm_weight * torch.tanh(rate / 3.0) - effort_weight * action.square().mean(-1)
    return {"near": near, "steer": steer, "settle": settle, "calm": calm}
