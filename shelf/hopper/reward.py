def compute_reward(x_velocity, pitch, pitch_velocity, action, *, forward_weight: float = 0.8,
                   top_speed: float = 4.0, pitch_free: float = 0.1, pitch_margin: float = 0.1,
                   poise_weight: float = 0.2, poise_rest: float = 0.3, spin_margin: float = 4.0,
                   moving_speed: float = 1.0, effort_weight: float = 0.02):
    """Forward velocity while upright, and a torso that does not spin once moving."""
    upright = tolerance(pitch, lower=-pitch_free, upper=pitch_free, margin=pitch_margin, value_at_margin=0.3)
    forward = forward_weight * torch.clamp(x_velocity / top_speed, -0.5, 1.0) * upright

    still = tolerance(pitch_velocity, margin=spin_margin)
    moving = torch.clamp(x_velocity / moving_speed, 0.0, 1.0)
    poise = poise_weight * upright * still * (poise_rest + (1.0 - poise_rest) * moving)

    effort = -effort_weight * action.square().mean(-1)
    return {"forward": forward, "poise": poise, "effort": effort}
