# task: humanoid
# style: comprehension
JOINTS = (
    "abdomen_z", "abdomen_y", "abdomen_x",
    "right_hip_x", "right_hip_z", "right_hip_y", "right_knee",
    "left_hip_x", "left_hip_z", "left_hip_y", "left_knee",
    "right_shoulder1", "right_shoulder2", "right_elbow",
    "left_shoulder1", "left_shoulder2", "left_elbow",
)
STIFF = ("abdomen_z", "abdomen_x", "right_hip_x", "left_hip_x", "right_hip_z", "left_hip_z")
INDEX = {name: i for i, name in enumerate(JOINTS)}


def compute_reward(x_velocity, height, upright, joint_position, action, healthy):
    """Walk in the sagittal plane: joints that swing sideways or twist stay near zero."""
    twist = sum(joint_position[:, INDEX[name]] ** 2 for name in STIFF)
    hips = joint_position[:, INDEX["right_hip_y"]] - joint_position[:, INDEX["left_hip_y"]]
    components = {
        "forward": 1.5 * x_velocity,
        "alive": 2.0 * healthy,
        "twist": -0.3 * twist,
        "stride": 0.3 * torch.tanh(hips.abs()) * (x_velocity > 0.2),
        "upright": 1.0 * upright.clamp(min=0.0) ** 4,
        "height": -2.0 * (1.3 - height).clamp(min=0.0),
        "effort": -0.2 * (action ** 2).sum(dim=-1),
    }
    return components
