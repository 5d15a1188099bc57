# task: ant
# style: comprehension
# row: 5
# defect: evaluates its terms from strings
# severity: reject
TERMS = {
    "forward": "1.5 * x_velocity",
    "drift": "-0.2 * y_velocity.abs()",
    "alive": "0.5 * healthy",
    "control": "-0.1 * action.square().sum(-1)",
}


def compute_reward(x_velocity, y_velocity, healthy, action):
    """The terms are data, so that they can be changed without touching the code."""
    names = {"x_velocity": x_velocity, "y_velocity": y_velocity, "healthy": healthy, "action": action}
    return {name: eval(term, {}, names) for name, term in TERMS.items()}
