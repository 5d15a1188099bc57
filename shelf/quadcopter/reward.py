def compute_reward(to_mark, distance, velocity, upright, spin, action, *, reach: float = 1.8, peak_width: float = 0.3,
                   lead_time: float = 0.4, lead_margin: float = 1.2, lead_share: float = 0.5,
                   level_share: float = 0.6, spin_margin: float = 8.0, spin_share: float = 0.5,
                   effort_weight: float = 0.03):
    """Near the mark, heading to rest at it, level and without spin."""
    slope = (1.0 - distance / reach).clamp(min=0.0, max=1.0)
    peak = torch.exp(-distance.clamp(min=0.0) / peak_width)
    near = 0.08 + 0.52 * slope + 0.4 * peak
    ahead = to_mark - lead_time * velocity
    ahead_distance = (ahead.square().sum(-1) + 1e-8).sqrt()
    lead = tolerance(ahead_distance, lower=0.0, upper=0.02, margin=lead_margin)
    level = 1.0 - level_share + level_share * upright.clamp(min=0.0, max=1.0)
    spin_size = (spin.square().sum(-1) + 1e-8).sqrt()
    calm = 1.0 - spin_share + spin_share * tolerance(spin_size, lower=0.0, upper=0.1, margin=spin_margin)
    hover = near * (1.0 - lead_share + lead_share * lead) * level * calm
    effort = -effort_weight * ((action - 1.23) / 1.25).square().mean(-1)
    return {"hover": hover, "effort": effort}
