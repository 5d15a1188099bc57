# task: ant
# style: text2reward
# row: 9
# defect: divides by the planar speed, 0 at rest: NaN
# severity: reject
import torch


def compute_reward(x_velocity, y_velocity, upright, healthy, action):
    # direction of travel: cosine between velocity and the +x axis
    speed = torch.sqrt(x_velocity ** 2 + y_velocity ** 2)
    direction = x_velocity / speed
    forward = 1.5 * torch.clamp(x_velocity, -1.0, 5.0)
    control = -0.1 * torch.sum(action ** 2, dim=-1)
    return {"forward": forward, "direction": 0.3 * direction, "upright": 0.3 * upright, "alive": 0.5 * healthy, "control": control}
