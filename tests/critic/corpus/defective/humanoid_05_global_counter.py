# task: humanoid
# style: text2reward
# row: 5
# defect: a curriculum over a global step counter
# severity: reject
import torch

STEP = 0


def compute_reward(x_velocity, height, upright, healthy, action):
    global STEP
    STEP += 1
    # first learn to stand, later to walk
    walk_weight = min(1.0, STEP / 10000.0)
    standing = torch.clamp((height - 1.0) / 0.4, 0.0, 1.0) * torch.clamp(upright, 0.0, 1.0)
    walking = walk_weight * 2.0 * torch.clamp(x_velocity, -1.0, 4.0)
    return {
        "standing": 2.0 * standing,
        "walking": walking,
        "alive": 2.0 * healthy,
        "effort": -0.1 * torch.sum(action ** 2, dim=-1),
    }
