# task: half_cheetah
# style: compact
# row: 2
# defect: two versions of the reward and no `compute_reward`
# severity: reject
def compute_reward_v1(x_velocity, upright, action):
    """Plain version."""
    return {"forward": x_velocity, "upright": 0.5 * upright, "control": -0.1 * action.square().sum(-1)}


def compute_reward_v2(x_velocity, upright, pitch_velocity, action):
    """Improved version, with a cost of rocking."""
    components = compute_reward_v1(x_velocity, upright, action)
    components["rock"] = -0.02 * pitch_velocity.abs()
    return components
