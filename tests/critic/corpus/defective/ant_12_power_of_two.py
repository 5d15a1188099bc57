# task: ant
# style: comprehension
# row: 10
# defect: a power with the speed in its exponent: 4 ** x_velocity
# severity: warn
def compute_reward(x_velocity, y_velocity, upright, healthy, action):
    """Each further m/s is worth four times the last."""
    costs = {"drift": 0.2 * y_velocity.abs(), "control": 0.1 * action.square().sum(-1)}
    gains = {"speed": torch.pow(4.0, x_velocity), "upright": 0.3 * upright, "alive": 0.5 * healthy}
    return {**gains, **{name: -value for name, value in costs.items()}}
