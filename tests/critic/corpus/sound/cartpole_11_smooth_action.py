# task: cartpole
# style: prev_inputs
def compute_reward(
    cart_position,
    pole_upright,
    prev_pole_upright,
    pole_velocity,
    action,
    prev_action,
    *,
    progress_weight: float = 2.0,
    smooth_weight: float = 0.02,
):
    """Holding the pole up is what pays; climbing pays a little earlier; jerky forces cost."""
    hold = torch.clamp(pole_upright, min=-0.5)
    # telescopes: what is paid on the way up is taken back on the way down
    progress = progress_weight * (pole_upright - prev_pole_upright)
    centre = -0.3 * cart_position.abs()
    jerk = -smooth_weight * (action - prev_action).square().sum(dim=-1)
    brake = -0.01 * pole_velocity.square() * (pole_upright > 0.9).float()
    return {"hold": hold, "progress": progress, "centre": centre, "jerk": jerk, "brake": brake}
