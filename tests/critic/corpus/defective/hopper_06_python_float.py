# task: hopper
# style: sparse_bonus
# row: 4
# defect: a component is a python number, by `.item()` of the batch's maximum
# severity: reject
def compute_reward(x_velocity, pitch, foot_clearance, healthy, action):
    """Hop: forward, level, and with a high flight phase."""
    forward = x_velocity.clamp(-1.0, 5.0)
    level = -2.0 * pitch ** 2
    flight = 0.2 * min(foot_clearance.max().item(), 0.3)
    control = -0.001 * (action ** 2).sum(-1)
    return {"forward": forward, "level": level, "flight": flight, "control": control, "alive": 0.5 * healthy}
