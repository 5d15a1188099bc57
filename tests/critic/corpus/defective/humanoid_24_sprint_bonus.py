# task: humanoid
# style: sparse_bonus
# row: 25
# defect: the bonus starts at 20 m/s
# severity: warn
import torch

SPRINT = 20.0


def compute_reward(x_velocity, height, upright, healthy, action):
    dense = torch.clamp(x_velocity, -1.0, 4.0)
    sprint = 5.0 * torch.ge(x_velocity, SPRINT).float()
    posture = 0.5 * upright - 2.0 * torch.clamp(1.25 - height, min=0.0)
    control = -0.1 * torch.sum(action ** 2, dim=-1)
    return {"dense": dense, "sprint": sprint, "posture": posture, "alive": 3.0 * healthy, "control": control}
