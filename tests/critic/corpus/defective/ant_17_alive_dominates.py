# task: ant
# style: gated
# row: 15
# defect: an alive bonus of 100 per step beside a speed term of order 1
# severity: warn
def compute_reward(x_velocity, y_velocity, upright, heading, healthy, action, *, alive_weight: float = 100.0, speed_weight: float = 1.0):
    """Survive, then walk."""
    gate = torch.exp(-(1.0 - upright) / 0.3)
    return {
        "alive": alive_weight * healthy,
        "speed": speed_weight * x_velocity.clamp(-1.0, 5.0) * (0.5 + 0.5 * gate),
        "course": 0.2 * torch.cos(heading),
        "drift": -0.2 * y_velocity.abs(),
        "control": -0.05 * action.square().sum(-1),
    }
