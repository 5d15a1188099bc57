# task: half_cheetah
# style: comprehension
LEGS = {"back": (0, 1, 2), "front": (3, 4, 5)}


def leg_power(action, joint_velocity, joints):
    """Mechanical power of one leg, (N,)."""
    return sum((action[:, j] * joint_velocity[:, j]).abs() for j in joints)


def compute_reward(x_velocity, upright, joint_velocity, action):
    """Fast and upright, with both legs at work."""
    power = {name: leg_power(action, joint_velocity, joints) for name, joints in LEGS.items()}
    total_power = power["back"] + power["front"] + 1e-3
    share = torch.minimum(power["back"], power["front"]) / total_power
    return {
        "speed": x_velocity.clamp(-2.0, 15.0),
        "both_legs": 0.5 * share,
        "power": -0.002 * total_power,
        "upright": 0.5 * upright,
    }
