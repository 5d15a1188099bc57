def compute_reward(x_velocity, upright, action, *, speed_scale: float = 5.0, top: float = 1.5,
                   run_weight: float = 1.0, gate_low: float = -0.1, gate_width: float = 0.8,
                   level_weight: float = 0.08, effort_weight: float = 0.04):
    """Run forward right side up."""
    gate = torch.clamp((upright - gate_low) / gate_width, 0.0, 1.0)
    speed = torch.clamp(x_velocity / speed_scale, -1.0, top)
    run = run_weight * torch.where(speed > 0.0, speed * gate, speed)
    level = level_weight * torch.clamp(upright, -1.0, 1.0)
    effort = -effort_weight * action.square().mean(-1)
    return {"run": run, "level": level, "effort": effort}
