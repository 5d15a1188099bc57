# task: half_cheetah
# style: functional
import torch
import torch.nn.functional as F


def compute_reward(x_velocity, upright, z_velocity, joint_position, action, *, speed_scale: float = 3.0, flip_weight: float = 1.0, bound_weight: float = 0.2):
    speed = speed_scale * F.softsign(x_velocity / speed_scale)
    flip = -flip_weight * F.relu(0.7 - upright)
    # the reference pose is 0; the limits lie around 1
    bound = -bound_weight * F.relu(joint_position.abs() - 0.8).sum(dim=-1)
    bounce = -0.02 * z_velocity.abs()
    effort = -0.03 * action.square().sum(dim=-1)
    return {"speed": speed, "flip": flip, "bound": bound, "bounce": bounce, "effort": effort}
