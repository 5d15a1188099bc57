# task: ant
# style: functional
# row: 9
# defect: log of contact forces that are 0 in the air: -inf
# severity: reject
import torch
import torch.nn.functional as F


def compute_reward(x_velocity, heading, foot_force, healthy, action):
    speed = 1.5 * F.elu(x_velocity)
    landing = -0.02 * torch.log(foot_force).sum(dim=-1)
    course = 0.2 * torch.cos(heading)
    control = -0.1 * action.square().sum(-1)
    return {"speed": speed, "landing": landing, "course": course, "alive": 0.5 * healthy, "control": control}
