# task: hopper
# style: gated
import torch


def compute_reward(x_velocity: torch.Tensor, pitch: torch.Tensor, height: torch.Tensor, action: torch.Tensor, *,
                   pitch_temperature: float = 0.12, height_floor: float = 0.85, height_temperature: float = 0.05,
                   speed_scale: float = 1.0, effort_scale: float = 2e-3):
    """Speed only counts while the posture allows another hop."""
    posture = torch.exp(-torch.square(pitch / pitch_temperature))
    tall = torch.sigmoid((height - height_floor) / height_temperature)
    speed = speed_scale * x_velocity.clamp(min=-1.0, max=6.0) * (0.3 + 0.7 * posture * tall)
    stance = 0.3 * posture * tall
    effort = -effort_scale * action.pow(2).sum(-1)
    return {"speed": speed, "stance": stance, "effort": effort}
