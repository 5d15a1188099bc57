# task: hopper
# style: comprehension
JOINTS = ("thigh", "leg", "foot")
WEIGHTS = (1.0, 0.5, 0.5)
LIMITS = (0.8, 1.2, 0.6)


def compute_reward(x_velocity, pitch, joint_position, action):
    """Forward speed; each joint pays for coming close to its limit."""
    limits = sum(
        weight * torch.clamp(joint_position[:, i].abs() - limit, min=0.0)
        for i, (weight, limit) in enumerate(zip(WEIGHTS, LIMITS))
    )
    torques = sum(weight * action[:, i] ** 2 for i, weight in enumerate(WEIGHTS))
    components = {
        "forward": x_velocity,
        "upright": 1.0 - (pitch / 0.2).abs().clamp(max=1.0),
        "limits": -limits,
        "torques": -0.002 * torques,
    }
    return {name: value for name, value in components.items()}
