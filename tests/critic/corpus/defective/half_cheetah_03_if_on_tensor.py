# task: half_cheetah
# style: text2reward
# row: 4
# defect: python `if` on a tensor of many worlds
# severity: reject
def compute_reward(x_velocity, upright, pitch_velocity, action):
    # running
    forward = x_velocity.clamp(-2.0, 12.0)

    # right side up: only then does speed count fully
    if upright > 0.5:
        posture = 0.5 * upright
    else:
        posture = -0.5 * (1.0 - upright)

    rocking = -0.02 * pitch_velocity.abs()
    control = -0.05 * action.square().sum(-1)
    return {"forward": forward, "posture": posture, "rocking": rocking, "control": control}
