# task: half_cheetah
# style: text2reward
import torch


def compute_reward(x_velocity, height, upright, joint_velocity, action):
    # The robot should run forward with its back up. Nothing terminates the episode, so that lying on
    # the back must be clearly worse than standing.

    # 1) forward velocity
    velocity_reward = x_velocity

    # 2) right side up, from -1 to 1
    upright_reward = upright

    # 3) torso height: distance to the standing height of 0.6 m
    height_distance = torch.abs(height - 0.6)
    height_reward = 1 - torch.tanh(5.0 * height_distance)

    # 4) regularization
    action_penalty = torch.sum(action ** 2, dim=1)
    joint_penalty = torch.clamp(torch.sum(joint_velocity ** 2, dim=1), max=2000.0)

    reward = 0
    reward += 1.0 * velocity_reward
    reward += 0.5 * upright_reward
    reward += 0.2 * height_reward
    reward += -0.05 * action_penalty
    reward += -0.0002 * joint_penalty

    return {"reward": reward}
