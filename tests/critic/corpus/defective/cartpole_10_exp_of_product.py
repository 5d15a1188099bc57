# task: cartpole
# style: eureka
# row: 11
# defect: the final reward is exp(3 * exp(...)), which cannot go to 0 and is steep only at the very end
# severity: warn
import torch


def compute_reward(cart_position, pole_angle, pole_velocity, action):
    """A peak of exp(3) at the goal state."""
    angle_temperature, centre_temperature, spin_temperature = 0.5, 1.0, 20.0
    cost = pole_angle ** 2 / angle_temperature + cart_position ** 2 / centre_temperature + pole_velocity ** 2 / spin_temperature
    peak = 0.2 * torch.exp(3.0 * torch.exp(-cost))
    return {"peak": peak, "up": torch.cos(pole_angle), "effort": -0.01 * action.square().sum(-1)}
