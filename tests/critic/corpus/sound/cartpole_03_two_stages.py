# task: cartpole
# style: text2reward
import torch


def compute_reward(cart_position, cart_velocity, pole_angle, pole_velocity, action):
    # Stage 1: bring the pole from hanging to upright.
    # Stage 2: once it is within about 30 degrees of upright, hold it there with little motion.

    # distance of the pole to the goal (in [0, pi])
    angle_distance = torch.abs(pole_angle)

    # Stage 1: dense reward for being close to the top
    reward_reach = 1.0 - torch.tanh(0.8 * angle_distance)

    # Stage 2: extra reward, added on top, so that progress never costs anything
    is_up = angle_distance < 0.5
    reward_hold = 1.0 - 0.5 * torch.tanh(0.5 * torch.abs(pole_velocity)) - 0.3 * torch.tanh(torch.abs(cart_velocity))
    reward_hold = torch.where(is_up, reward_hold, torch.zeros_like(reward_hold))

    # Safety: keep away from the stops at +-1.8 m
    reward_rail = -1.0 * torch.clamp(torch.abs(cart_position) - 1.2, min=0.0)

    # Regularization of the action
    reward_action = -0.005 * torch.sum(torch.square(action), dim=1)

    return {
        "reach": reward_reach,
        "hold": reward_hold,
        "rail": reward_rail,
        "action": reward_action,
    }
