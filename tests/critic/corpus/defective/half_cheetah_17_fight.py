# task: half_cheetah
# style: comprehension
# row: 24
# defect: a term pays for speed and another takes nearly the same back as a cost of motion
# severity: warn
def compute_reward(x_velocity, upright, pitch_velocity, action):
    """Run, but without rushing."""
    gains = {"run": 1.0 * x_velocity, "upright": 0.5 * upright}
    costs = {
        "rush": 0.9 * x_velocity.clamp(min=-2.0),
        "rock": 0.02 * pitch_velocity.abs(),
        "control": 0.05 * action.square().sum(-1),
    }
    return {**gains, **{name: -cost for name, cost in costs.items()}}
