# task: cartpole
# style: energy
# row: 6
# defect: a while loop simulates the pole until it stops, which never happens without friction
# severity: reject
import torch


def compute_reward(cart_position, pole_angle, pole_velocity, action):
    """Reward the highest point that the pole would reach if the force were zero from now on."""
    angle, velocity = pole_angle.clone(), pole_velocity.clone()
    highest = torch.cos(angle)
    while (velocity.abs() > 1e-3).any():
        velocity = velocity + 0.01 * 18.4 * torch.sin(angle)
        angle = angle + 0.01 * velocity
        highest = torch.maximum(highest, torch.cos(angle))
    return {
        "highest": highest,
        "up": 0.5 * torch.cos(pole_angle),
        "centre": -0.2 * cart_position ** 2,
        "effort": -0.01 * action.square().sum(-1),
    }
