# task: hopper
# style: potential
DT = 0.008


def compute_reward(x_position, prev_x_position, pitch, prev_pitch, height, prev_height, healthy, action):
    """Progress of the torso as a difference, and potential-based shaping on posture (discount 0.99)."""

    def potential(h, p):
        return 2.0 * torch.exp(-((h - 1.25) / 0.3) ** 2) - 5.0 * p.abs()

    progress = (x_position - prev_x_position) / DT
    shaping = 0.99 * potential(height, pitch) - potential(prev_height, prev_pitch)
    return {
        "progress": progress,
        "shaping": shaping,
        "alive": 0.5 * healthy,
        "effort": -0.001 * (action ** 2).sum(-1),
    }
