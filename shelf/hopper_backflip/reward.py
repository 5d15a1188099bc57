def compute_reward(turns, prev_turns, spin, height, com_velocity, clearance, action, *,
                   rise_weight: float = 0.4, rise_speed: float = 3.0, turn_weight: float = 1.0,
                   rate_scale: float = 2.0, brake_width: float = 0.15, air_height: float = 0.1,
                   rest_weight: float = 1.0, near_margin: float = 0.3, speed_scale: float = 0.8,
                   spin_scale: float = 2.5, effort_weight: float = 0.01):
    """Velocities along the way up and round, stillness at the end."""
    torso = turns[:, 3]
    turned = turns.mean(-1)

    # upward speed until the turn is under way
    early = 1.0 - ((turned - 0.1) / 0.25).clamp(0.0, 1.0)
    rise = rise_weight * early * (com_velocity[:, 2] / rise_speed).clamp(-1.0, 1.0)

    # turning rate of all parts (turns per second) along the direction to one turn
    rate = (turns - prev_turns).mean(-1) / 0.02
    toward = torch.tanh((1.0 - turned) / brake_width)
    along = (toward * rate / rate_scale).clamp(-1.0, 1.0)
    foot_down = (1.0 - clearance[:, 0] / 0.05).clamp(0.0, 1.0)
    inverted = tolerance(torso, lower=0.2, upper=0.8, margin=0.08)
    body_off = (clearance[:, 2:].amin(-1) / 0.05).clamp(0.0, 1.0)
    air = (clearance.amin(-1) / air_height).clamp(0.0, 1.0)
    gate = air * body_off * (1.0 - foot_down * inverted)
    turning = turn_weight * torch.where(along > 0.0, along * gate, along)

    # stillness where it has to stop
    near = tolerance(torso, lower=0.95, upper=1.05, margin=near_margin)
    whole = tolerance(turns.amin(-1), lower=0.85, upper=1.5, margin=0.4)
    tall = tolerance(height, lower=1.1, upper=2.0, margin=0.5, sigmoid="linear")
    still = torch.exp(-com_velocity.norm(dim=-1) / speed_scale - spin.abs() / spin_scale)
    rest = rest_weight * near * whole * tall * (0.3 + 0.7 * still)

    effort = -effort_weight * action.square().mean(-1)
    return {"rise": rise, "turning": turning, "rest": rest, "effort": effort}
