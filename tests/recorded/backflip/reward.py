def compute_reward(turned, prev_turned, spin, com, com_velocity, height, foot_down, torso_down, thigh_down, leg_down, action, *, way_weight: float = 25.0, goal_weight: float = 2.0, touch_weight: float = 4.0, low: float = 0.27, high: float = 0.52, width: float = 0.15, effort_weight: float = 0.005):
    """Backward turns off the floor, and standing one turn further."""
    clear = (1.0 - torso_down) * (1.0 - thigh_down) * (1.0 - leg_down)
    gate = ((com[:, 2] - low) / (high - low)).clamp(0.0, 1.0)
    nearer = (prev_turned + 1.0).abs() - (turned + 1.0).abs()
    way = (way_weight * nearer).clamp(-1.5, 1.5)
    way = clear * torch.where(way > 0.0, way * gate, way)
    near = tolerance(turned, lower=-1.07, upper=-0.93, margin=width)
    tall = tolerance(height, lower=1.0, upper=1.4, margin=0.4)
    still = torch.exp(-(com_velocity.norm(dim=-1) + 0.2 * spin.abs()))
    stands = 0.3 + 0.3 * foot_down + 0.4 * foot_down * still
    raised = tolerance(height, lower=0.9, upper=1.6, margin=0.15)
    goal = near * (goal_weight * clear * tall * stands - touch_weight * raised * (1.0 - clear))
    effort = -effort_weight * action.square().mean(-1)
    return {"turned": way + goal, "effort": effort}
