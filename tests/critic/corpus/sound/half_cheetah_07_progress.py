# task: half_cheetah
# style: prev_inputs
def compute_reward(x_position, prev_x_position, upright, prev_upright, action, prev_action):
    """Distance gained in this step, posture change as a telescoping difference, smooth actions."""
    dt = 0.05
    gained = (x_position - prev_x_position) / dt
    righting = 2.0 * (upright - prev_upright)
    on_feet = 0.3 * (upright > 0.5).float()
    change = -0.01 * (action - prev_action).abs().sum(dim=-1)
    return {"gained": gained, "righting": righting, "on_feet": on_feet, "change": change}
