def compute_reward(pole_angle, pole_upright, pole_velocity, cart_position, cart_velocity, *,
                   gravity_rate: float = 18.0, energy_weight: float = 0.25,
                   above_weight: float = 0.25,
                   hold_weight: float = 0.8, top_free: float = 0.15, top_margin: float = 0.7,
                   speed_margin: float = 4.0, rail_free: float = 0.3, rail_margin: float = 1.2,
                   look_ahead: float = 0.25, hold_free: float = 0.6, hold_margin: float = 0.7,
                   stop_weight: float = 0.1, stop_start: float = 1.2, stop_width: float = 0.6):
    """Energy of the upright pole first, then height above horizontal, then holding."""
    # pole energy: -1 hanging still, +1 upright still
    energy_level = pole_upright + pole_velocity.square() / (2.0 * gravity_rate)
    energy = energy_weight * (1.0 - 0.5 * (energy_level - 1.0).abs()).clamp(-1.0, 1.0)

    middle = tolerance(cart_position, lower=-rail_free, upper=rail_free, margin=rail_margin)
    above = above_weight * pole_upright.clamp(0.0, 1.0) * (0.5 + 0.5 * middle)

    top = tolerance(pole_angle, lower=-top_free, upper=top_free, margin=top_margin)
    slow = tolerance(pole_velocity, margin=speed_margin)
    # the worse of where the cart is and where it will be shortly
    ahead = cart_position + look_ahead * cart_velocity
    farthest = torch.maximum(cart_position.abs(), ahead.abs())
    staying = tolerance(farthest, lower=0.0, upper=hold_free, margin=hold_margin)
    hold = hold_weight * top * (0.2 + 0.8 * slow) * (0.3 + 0.7 * staying)

    rail = -stop_weight * ((cart_position.abs() - stop_start) / stop_width).clamp(0.0, 1.0)
    return {"energy": energy, "above": above, "hold": hold, "rail": rail}
