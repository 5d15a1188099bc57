def compute_reward(
    position,
    velocity,
    angular_velocity,
    upright,
    *,
    radius: float = 1.0,
    height_goal: float = 1.0,
    gain: float = 3.0,
    speed: float = 1.0,
    ring_margin: float = 0.5,
    across_margin: float = 0.8,
    spin_margin: float = 8.0,
    along_weight: float = 0.8,
    still_weight: float = 0.7,
    level_weight: float = 0.3,
):
    """Move along the way onto the ring and round it; be still across it."""
    x, y, z = position[:, 0], position[:, 1], position[:, 2]
    r = (x * x + y * y + 1e-4).sqrt()
    rx, ry = x / r, y / r
    vx, vy, vz = velocity[:, 0], velocity[:, 1], velocity[:, 2]
    v_out = vx * rx + vy * ry
    v_tan = vy * rx - vx * ry

    # direction in which to fly: round to the left, and back to the ring
    to_ring = (gain * (radius - r)).clamp(-3.0, 3.0)
    to_level = (gain * (height_goal - z)).clamp(-3.0, 3.0)
    length = (1.0 + to_ring.square() + to_level.square()).sqrt()
    toward = (v_tan + v_out * to_ring + vz * to_level) / length
    size = (velocity.square().sum(-1) + 1e-6).sqrt()
    along = along_weight * toward / size.clamp(min=speed)

    off = ((r - radius).square() + (z - height_goal).square() + 1e-8).sqrt()
    across = (v_out.square() + vz.square() + 1e-8).sqrt()
    moving = (v_tan / speed).clamp(0.0, 1.0)
    still = still_weight * tolerance(off, margin=ring_margin) * tolerance(across, margin=across_margin) * moving

    spin = angular_velocity.norm(dim=-1)
    level = level_weight * upright.clamp(0.0, 1.0) * tolerance(spin, margin=spin_margin)
    return {"along": along, "still": still, "level": level}
