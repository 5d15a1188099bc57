# task: half_cheetah
# style: compact
# row: 7
# defect: `action *= joint_velocity` writes the power into the action
# severity: reject
def compute_reward(x_velocity, upright, joint_velocity, action, *, power_weight: float = 0.002, control_weight: float = 0.05):
    """Speed, right side up, low power, low control."""
    control = -control_weight * action.square().sum(-1)
    action *= joint_velocity
    power = -power_weight * action.abs().sum(-1)
    return {"speed": x_velocity, "upright": 0.5 * upright, "power": power, "control": control}
