def compute_reward(turns, spin, x_velocity, z_velocity, height, prev_height, prev_turns, clearance, joint_velocity,
                   action, *,
                   spin_weight: float = 0.7, beyond_weight: float = 1.0, spin_gain: float = 25.0,
                   spin_cap: float = 10.0, height_weight: float = 2.0, height_top: float = 1.3,
                   stand_weight: float = 1.1, stand_floor: float = 0.25, crouch_pay: float = 0.15,
                   arrive_margin: float = 0.2, spin_margin: float = 4.0, speed_margin: float = 2.0,
                   joint_margin: float = 12.0, tall_margin: float = 0.15, foot_margin: float = 0.3,
                   shin_margin: float = 0.1, thigh_margin: float = 0.2, touch: float = 0.005,
                   effort_weight: float = 0.01):
    """Jump by height gained, turn at the right spin for the turn left, then stand on the feet alone."""
    turned = turns.abs()
    side = torch.where(turns >= 0.0, torch.ones_like(turns), -torch.ones_like(turns))
    out_spin = side * spin

    # right spin: proportional to the turn left, capped; worth more beyond the inverted state
    spin_target = (spin_gain * (1.0 - turned)).clamp(-spin_cap, spin_cap)
    spin_better = ((spin_target.abs() - (out_spin - spin_target).abs()) / spin_cap).clamp(-1.0, 1.0)
    weight = spin_weight + (beyond_weight - spin_weight) * ((turned - 0.4) / 0.2).clamp(0.0, 1.0)
    upside_down = torch.cos(2.0 * math.pi * turns) < 0.0
    touching = clearance.min(dim=-1).values < touch
    clean = torch.where(upside_down & touching, torch.zeros_like(turned), torch.ones_like(turned))
    spin_match = weight * spin_better * clean

    # the jump: height gained until half a turn is made, given back when it falls before that
    before_half = (prev_turns.abs() < 0.5).float()
    height_gain = height.clamp(0.0, height_top) - prev_height.clamp(0.0, height_top)
    jump = (height_weight * height_gain * before_half).clamp(-1.0, 1.0)

    # the end: calm, on the feet alone, one turn further
    arrived = tolerance(turned, lower=0.97, upper=1.03, margin=arrive_margin)
    joint_speed = (joint_velocity.square().mean(-1) + 1e-6).sqrt()
    calm = (tolerance(spin, margin=spin_margin)
            * tolerance(x_velocity, margin=speed_margin)
            * tolerance(z_velocity, margin=speed_margin)
            * tolerance(joint_speed, margin=joint_margin))
    feet_down = tolerance(torch.maximum(clearance[:, 4], clearance[:, 7]), lower=-0.1, upper=0.02,
                          margin=foot_margin)
    knees_up = (tolerance(torch.minimum(clearance[:, 3], clearance[:, 6]), lower=0.06, upper=5.0,
                          margin=shin_margin)
                * tolerance(torch.minimum(clearance[:, 2], clearance[:, 5]), lower=0.15, upper=5.0,
                            margin=thigh_margin))
    tall = tolerance(height, lower=0.52, upper=0.65, margin=tall_margin)
    on_feet = feet_down * (crouch_pay + (1.0 - crouch_pay) * knees_up * tall)
    stand = stand_weight * arrived * on_feet * (stand_floor + (1.0 - stand_floor) * calm)

    effort = -effort_weight * action.square().mean(-1)
    return {"spin_match": spin_match, "jump": jump, "stand": stand, "effort": effort}
