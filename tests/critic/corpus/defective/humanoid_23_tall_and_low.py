# task: humanoid
# style: text2reward
# row: 24
# defect: `tall` pays for height and `stable`, a low centre of mass, for the opposite
# severity: warn
import torch


def compute_reward(x_velocity, height, upright, healthy, action):
    forward = 1.5 * torch.clamp(x_velocity, -1.0, 5.0)
    tall = 2.0 * torch.clamp(height - 1.0, 0.0, 0.4) / 0.4
    # a low centre of mass is more stable
    stable = 1.5 * torch.clamp(1.4 - height, 0.0, 0.4) / 0.4
    posture = 0.5 * upright
    effort = -0.1 * torch.sum(action ** 2, dim=-1)
    return {"forward": forward, "tall": tall, "stable": stable, "posture": posture, "alive": 2.0 * healthy, "effort": effort}
