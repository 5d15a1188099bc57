# task: walker2d
# style: comprehension
# row: 20
# defect: the left leg's slice 6:9 lies outside the 6 joints: it is empty and its term is 0
# severity: warn
LEGS = {"right": slice(0, 3), "left": slice(6, 9)}


def compute_reward(x_velocity, pitch, joint_velocity, healthy, action):
    """Forward, level, calm legs."""
    components = {
        "forward": x_velocity.clamp(-1.0, 5.0),
        "level": -0.5 * pitch.square(),
        "alive": 0.5 * healthy,
        "control": -0.002 * action.square().sum(-1),
    }
    for name, joints in LEGS.items():
        components["calm_" + name] = -2e-4 * joint_velocity[:, joints].square().sum(-1).clamp(max=2000.0)
    return components
