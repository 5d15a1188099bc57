# task: humanoid
# style: sparse_bonus
# row: 18
# defect: the alive bonus is paid where healthy is 0: falling pays
# severity: reject
import torch


def compute_reward(x_velocity, height, upright, healthy, joint_velocity, action):
    dense = torch.clamp(x_velocity, -1.0, 4.0)
    alive = 3.0 * (healthy < 0.5).float()
    stoop = -2.0 * torch.clamp(1.2 - height, min=0.0)
    posture = 0.5 * upright
    shake = -0.002 * joint_velocity.abs().sum(dim=-1)
    control = -0.1 * action.square().sum(dim=-1)
    return {"dense": dense, "alive": alive, "stoop": stoop, "posture": posture, "shake": shake, "control": control}
