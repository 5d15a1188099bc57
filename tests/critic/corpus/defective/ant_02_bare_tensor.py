# task: ant
# style: text2reward
# row: 2
# defect: returns only the total, not its components
# severity: reject
import torch


def compute_reward(x_velocity, y_velocity, heading, upright, healthy, action):
    reward = torch.zeros_like(x_velocity)
    # go forward
    reward = reward + 1.5 * x_velocity
    # do not drift
    reward = reward - 0.2 * torch.abs(y_velocity)
    # look ahead and keep upright
    reward = reward + 0.2 * torch.cos(heading) + 0.3 * upright
    # live
    reward = reward + 0.5 * healthy
    # save energy
    reward = reward - 0.1 * torch.sum(action ** 2, dim=-1)
    return reward
