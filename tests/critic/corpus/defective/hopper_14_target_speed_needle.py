# task: hopper
# style: compact
# row: 13
# defect: the only reward for speed is a bell of width 0.01 m/s around 2.5 m/s: no gradient from rest
# severity: warn
def compute_reward(x_velocity, pitch, healthy, action, *, target: float = 2.5, width: float = 0.01, alive: float = 0.3):
    """Hold the target speed."""
    return {
        "target": 2.0 * torch.exp(-((x_velocity - target) / width) ** 2),
        "level": -2.0 * pitch.square(),
        "alive": alive * healthy,
        "control": -0.001 * action.square().sum(-1),
    }
