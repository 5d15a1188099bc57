# task: walker2d
# style: functional
import torch
import torch.nn.functional as F


def compute_reward(x_velocity, z_velocity, height, pitch, action, prev_action):
    """Huber costs around a walking reference."""
    target = torch.full_like(x_velocity, 2.0)
    speed = 2.0 - F.huber_loss(x_velocity, target, reduction="none", delta=1.0)
    bob = -0.1 * F.huber_loss(z_velocity, torch.zeros_like(z_velocity), reduction="none")
    tilt = -F.softplus(5.0 * (pitch.abs() - 0.4)) / 5.0
    tall = -3.0 * F.relu(1.05 - height)
    smooth = -0.005 * F.mse_loss(action, prev_action, reduction="none").sum(dim=-1)
    return {"speed": speed, "bob": bob, "tilt": tilt, "tall": tall, "smooth": smooth}
