# task: walker2d
# style: functional
# row: 4
# defect: the limit cost is never summed over the joints: (N, 6)
# severity: reject
import torch
import torch.nn.functional as F


def compute_reward(x_velocity, pitch, joint_position, action, healthy, *, limit_weight: float = 0.2):
    forward = F.hardtanh(x_velocity, -1.0, 5.0)
    lean = -0.5 * pitch.square()
    limits = -limit_weight * F.relu(joint_position.abs() - 1.0)
    control = -0.002 * action.square().sum(-1)
    return {"forward": forward, "lean": lean, "limits": limits, "control": control, "alive": 0.5 * healthy}
