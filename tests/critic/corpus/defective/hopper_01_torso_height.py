# task: hopper
# style: compact
# row: 1
# defect: made-up input `torso_height`, the variable is called `height`
# severity: reject
def compute_reward(x_velocity, torso_height, pitch, action, *, alive: float = 0.5, effort: float = 1e-3):
    """Forward, tall and level."""
    forward = x_velocity.clamp(-1.0, 5.0)
    tall = alive * torch.exp(-((torso_height - 1.25) ** 2) / 0.1)
    level = -2.0 * pitch.square()
    return {"forward": forward, "tall": tall, "level": level, "effort": -effort * action.square().sum(-1)}
