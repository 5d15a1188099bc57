# task: walker2d
# style: functional
# row: 31
# defect: pays each foot for moving forward relative to the torso and nothing for moving back: shuffling on the spot
# severity: reject
import torch
import torch.nn.functional as F


def compute_reward(x_velocity, pitch, foot_position, prev_foot_position, healthy, action, *, step_weight: float = 0.5):
    step = step_weight * F.relu(foot_position - prev_foot_position).sum(dim=-1) / 0.008
    forward = F.hardtanh(x_velocity, -1.0, 5.0)
    level = -0.5 * pitch.square()
    control = -0.002 * action.square().sum(-1)
    return {"forward": forward, "step": step, "level": level, "alive": 0.5 * healthy, "control": control}
