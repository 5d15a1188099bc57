# task: walker2d
# style: text2reward
# row: 1
# defect: made-up input `foot_contact`; the task has only `foot_clearance`
# severity: reject
def compute_reward(x_velocity, height, pitch, foot_contact, healthy, action):
    # forward
    forward = x_velocity.clamp(-1.0, 4.0)
    # gait: exactly one foot in contact
    single = (foot_contact.sum(dim=-1) == 1).float()
    gait = 0.2 * single * x_velocity.clamp(0.0, 1.0)
    # posture
    posture = -0.5 * pitch.square() - (1.1 - height).clamp(min=0.0)
    return {"forward": forward, "gait": gait, "posture": posture, "alive": 0.5 * healthy, "effort": -0.002 * action.square().sum(-1)}
