# task: ant
# style: prev_inputs
# row: 21
# defect: `prev_action` is asked for and never used; the smoothness term compares the action with nothing
# severity: warn
import torch


def compute_reward(x_velocity, y_velocity, upright, healthy, action, prev_action):
    """Forward, straight, upright, with smooth actions."""
    forward = 1.5 * torch.clamp(x_velocity, -1.0, 5.0)
    straight = -0.2 * torch.abs(y_velocity)
    smooth = -0.05 * torch.sum(action ** 2, dim=-1)
    return {"forward": forward, "straight": straight, "upright": 0.3 * upright, "alive": 0.5 * healthy, "smooth": smooth}
