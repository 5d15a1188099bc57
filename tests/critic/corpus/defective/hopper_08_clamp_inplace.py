# task: hopper
# style: text2reward
# row: 7
# defect: clamp_ changes the input x_velocity in place
# severity: reject
import torch


def compute_reward(x_velocity, pitch, healthy, action):
    # avoid rewarding unrealistic speeds
    speed = x_velocity.clamp_(-1.0, 3.0)
    level = 0.5 * torch.exp(-pitch.abs() / 0.1)
    alive = 0.5 * healthy
    effort = -0.001 * torch.sum(action ** 2, dim=-1)
    return {"speed": speed, "level": level, "alive": alive, "effort": effort}
