# task: humanoid
# style: text2reward
# row: 9
# defect: share of the load on one foot is 0 / 0 in flight
# severity: reject
import torch


def compute_reward(x_velocity, height, upright, foot_force, healthy, action):
    # forward
    forward = 1.5 * torch.clamp(x_velocity, -1.0, 5.0)
    # load share: near 0 or 1 in single support, 0.5 in double support
    share = foot_force[:, 0] / foot_force.sum(dim=-1)
    single_support = 4.0 * (share - 0.5) ** 2
    gait = 0.2 * single_support * torch.clamp(x_velocity, 0.0, 1.0)
    # posture
    posture = upright - 2.0 * torch.clamp(1.3 - height, min=0.0)
    # effort
    effort = -0.1 * torch.sum(action ** 2, dim=-1)
    return {"forward": forward, "gait": gait, "posture": posture, "alive": 2.0 * healthy, "effort": effort}
