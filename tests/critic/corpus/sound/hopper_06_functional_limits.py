# task: hopper
# style: functional
import torch
import torch.nn.functional as F

KNEE = 1  # index of `leg` in joint_position


def compute_reward(x_velocity, pitch, joint_position, joint_velocity, action, *, limit_weight: float = 1.0, pitch_weight: float = 20.0, control_weight: float = 0.002):
    """Run, lean little, keep the knee away from full flexion, spend little power."""
    forward = F.leaky_relu(x_velocity, negative_slope=0.5)
    lean = -pitch_weight * F.relu(pitch.abs() - 0.1).pow(2) * 10.0
    knee = -limit_weight * F.relu(-joint_position[:, KNEE] - 1.0)
    power = -control_weight * (action * joint_velocity).abs().sum(dim=1)
    alive = 0.2 * torch.exp(-pitch.abs() / 0.1)
    return {"forward": forward, "lean": lean, "knee": knee, "power": power, "alive": alive}
