# task: hopper
# style: text2reward
# row: 8
# defect: keeps the last action as an attribute of the function, across episodes and callers
# severity: reject
import torch


def compute_reward(x_velocity, pitch, healthy, action):
    if not hasattr(compute_reward, "last_action") or compute_reward.last_action.shape != action.shape:
        compute_reward.last_action = torch.zeros_like(action)
    smooth = -0.01 * torch.sum((action - compute_reward.last_action) ** 2, dim=-1)
    compute_reward.last_action = action.clone()
    forward = torch.clamp(x_velocity, -1.0, 5.0)
    level = -2.0 * pitch ** 2
    return {"forward": forward, "level": level, "smooth": smooth, "alive": 0.5 * healthy}
