# task: hopper
# style: dm_control
def compute_reward(x_velocity, pitch, height, healthy, action):
    """Weighted sum of tolerances."""
    run = tolerance(x_velocity, lower=3.0, upper=100.0, margin=3.0)
    level = tolerance(pitch, lower=-0.08, upper=0.08, margin=0.15)
    stand = tolerance(height, lower=1.0, upper=1.6, margin=0.3)
    gentle = tolerance(action, lower=-0.3, upper=0.3, margin=1.0).mean(dim=1)
    return {"run": 2.0 * run * stand, "level": 0.4 * level, "gentle": 0.1 * gentle, "healthy": 0.4 * healthy}
