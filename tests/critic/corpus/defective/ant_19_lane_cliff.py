# task: ant
# style: sparse_bonus
# row: 17
# defect: a step of -8 at 0.3 m from the lane's middle and no slope on either side
# severity: warn
import torch


def compute_reward(x_velocity, y_position, heading, upright, healthy, action):
    """Run along the lane."""
    forward = 1.5 * torch.clamp(x_velocity, -1.0, 5.0)
    off_lane = -8.0 * (torch.abs(y_position) > 0.3).float()
    course = 0.2 * torch.cos(heading)
    posture = 0.3 * upright
    control = -0.1 * torch.sum(action ** 2, dim=-1)
    return {"forward": forward, "off_lane": off_lane, "course": course, "posture": posture, "alive": 0.5 * healthy, "control": control}
