# task: ant
# style: dm_control
def compute_reward(x_velocity, y_velocity, upright, height):
    """Upright times moving along +x, with a little for standing."""
    upright_reward = tolerance(upright, lower=0.9, upper=1.0, margin=1.0)
    height_reward = tolerance(height, lower=0.4, upper=0.8, margin=0.2)
    move = tolerance(x_velocity, lower=3.0, upper=50.0, margin=3.0)
    straight = tolerance(y_velocity, lower=-0.2, upper=0.2, margin=2.0)
    posture = upright_reward * height_reward
    return {"posture": 0.3 * posture, "run": posture * (5 * move + 1) / 6 * (1 + straight) / 2}
