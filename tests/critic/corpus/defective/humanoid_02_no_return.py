# task: humanoid
# style: text2reward
# row: 2
# defect: computes everything and forgets the return statement
# severity: reject
import torch


def compute_reward(x_velocity, height, upright, healthy, action):
    """Walk forward, upright and tall."""
    components = {}
    components["forward"] = 1.5 * torch.clamp(x_velocity, -1.0, 5.0)
    components["upright"] = 1.0 * upright
    components["tall"] = -3.0 * torch.clamp(1.3 - height, min=0.0)
    components["alive"] = 2.0 * healthy
    components["effort"] = -0.1 * torch.sum(action ** 2, dim=-1)
    total = sum(components.values())
