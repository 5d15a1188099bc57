# task: ant
# style: potential
# row: 3
# defect: the potential function `phi` is called but not in the reply
# severity: reject
GAMMA = 0.99


def compute_reward(x_velocity, upright, prev_upright, heading, prev_heading, healthy, action):
    """Forward speed with potential-based shaping of posture and course."""
    shaping = GAMMA * phi(upright, heading) - phi(prev_upright, prev_heading)
    return {
        "forward": x_velocity,
        "shaping": shaping,
        "alive": 0.5 * healthy,
        "control": -0.1 * action.square().sum(-1),
    }
