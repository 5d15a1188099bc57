# task: ant
# style: functional
# row: 8
# defect: adds random noise to the reward for exploration
# severity: reject
import torch


def compute_reward(x_velocity, upright, healthy, action, *, speed_weight: float = 1.5, noise: float = 0.05):
    speed = speed_weight * x_velocity
    curiosity = noise * torch.randn_like(x_velocity)
    posture = 0.3 * upright
    control = -0.1 * action.square().sum(-1)
    return {"speed": speed, "curiosity": curiosity, "posture": posture, "alive": 0.5 * healthy, "control": control}
