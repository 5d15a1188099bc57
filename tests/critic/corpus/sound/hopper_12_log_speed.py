# task: hopper
# style: compact
import torch


def compute_reward(x_velocity, height, pitch, z_velocity, action, *, w_speed: float = 1.0, w_bounce: float = 0.05):
    """Log of speed gives a strong pull at the beginning and never quite flattens."""
    speed = w_speed * torch.sign(x_velocity) * torch.log1p(2.0 * x_velocity.abs())
    bounce = w_bounce * z_velocity.abs().clamp(max=2.0) * (x_velocity > 0.3)
    level = -2.0 * torch.square(pitch)
    crouch = -2.0 * torch.relu(0.95 - height)
    control = -0.001 * torch.linalg.norm(action, dim=-1)
    return {"speed": speed, "bounce": bounce, "level": level, "crouch": crouch, "control": control}
