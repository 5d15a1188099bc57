# task: ant
# style: text2reward
# row: 14
# defect: the height error begins at 1.1 m, but the episode ends at 1.0 m: exp(0) everywhere
# severity: warn
import torch


def compute_reward(x_velocity, y_velocity, height, healthy, action):
    # the torso should neither sink nor jump
    height_error = torch.clamp(height - 1.1, min=0.0)
    height_reward = 0.5 * torch.exp(-height_error / 0.1)
    forward_reward = 1.5 * torch.clamp(x_velocity, -1.0, 5.0)
    drift_penalty = -0.2 * torch.abs(y_velocity)
    action_penalty = -0.1 * torch.sum(action ** 2, dim=-1)
    return {
        "height": height_reward,
        "forward": forward_reward,
        "drift": drift_penalty,
        "alive": 0.5 * healthy,
        "action": action_penalty,
    }
