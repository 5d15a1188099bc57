# task: humanoid
# style: functional
import torch
import torch.nn.functional as F

ELBOWS = (13, 16)
KNEES = (6, 10)


def compute_reward(x_velocity, height, upright, joint_position, contact_load, action, healthy, *, speed_weight: float = 1.5, low_weight: float = 5.0, knee_weight: float = 0.1):
    speed = speed_weight * F.leaky_relu(x_velocity, 0.3)
    low = -low_weight * F.relu(1.25 - height)
    tilt = -F.relu(0.95 - upright)
    knees = joint_position[:, KNEES[0]] + joint_position[:, KNEES[1]]
    # negative knee angles bend the leg
    squat = -knee_weight * F.relu(-knees - 1.0)
    contact = -0.05 * torch.log10(1.0 + contact_load)
    control = -0.2 * action.square().sum(-1)
    return {"speed": speed, "low": low, "tilt": tilt, "squat": squat, "contact": contact, "control": control, "alive": 2.0 * healthy}
