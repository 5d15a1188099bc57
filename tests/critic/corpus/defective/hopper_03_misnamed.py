# task: hopper
# style: compact
# row: 2
# defect: the function is called `reward_function`
# severity: reject
def reward_function(x_velocity, pitch, healthy, action, *, speed: float = 1.0, alive: float = 0.5):
    """Run forward without falling."""
    return {
        "speed": speed * x_velocity,
        "alive": alive * healthy,
        "level": -2.0 * pitch.square(),
        "effort": -0.001 * action.square().sum(-1),
    }
