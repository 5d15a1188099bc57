# task: humanoid
# style: text2reward
# row: 14
# defect: alive bonus for height > 0.3, but the episode ends at 1.0: always true
# severity: warn
import torch


def compute_reward(x_velocity, height, upright, heading, action):
    # alive bonus while the torso is off the ground
    alive = torch.where(height > 0.3, torch.ones_like(height), torch.zeros_like(height))
    forward = 1.5 * torch.clamp(x_velocity, -1.0, 5.0)
    posture = torch.clamp(upright, 0.0, 1.0) ** 4
    course = 0.2 * torch.cos(heading)
    effort = -0.1 * torch.sum(action ** 2, dim=-1)
    return {"alive": 2.0 * alive, "forward": forward, "posture": posture, "course": course, "effort": effort}
