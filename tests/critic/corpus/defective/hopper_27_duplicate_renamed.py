# task: hopper
# style: compact
# row: 45
# defect: sound/hopper_01_gymnasium with other local names and order: the same behaviour
# severity: warn
# duplicate_of: sound/hopper_01_gymnasium.py
import torch


def compute_reward(action, healthy, x_velocity):
    """Run, stay healthy, be gentle."""
    run = 1.0 * x_velocity
    stay = healthy
    gentle = -(action ** 2).sum(dim=1) / 1000.0
    return {"gentle": gentle, "run": run, "stay": stay}
