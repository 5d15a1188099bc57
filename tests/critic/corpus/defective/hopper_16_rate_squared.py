# task: hopper
# style: prev_inputs
# row: 15
# defect: smoothness is divided by the squared time step (0.008 s): 15000 times too big
# severity: warn
import torch

DT = 0.008


def compute_reward(x_velocity, pitch, height, healthy, action, prev_action):
    forward = torch.clamp(x_velocity, -1.0, 5.0)
    level = -2.0 * pitch ** 2
    crouch = -2.0 * torch.clamp(0.95 - height, min=0.0)
    action_rate = (action - prev_action) / DT
    smooth = -0.01 * torch.sum(action_rate ** 2, dim=-1)
    return {"forward": forward, "level": level, "crouch": crouch, "smooth": smooth, "alive": 0.5 * healthy}
