# task: hopper
# style: text2reward
import torch


def compute_reward(x_velocity, pitch, pitch_velocity, foot_clearance, action, prev_action):
    reward = torch.zeros_like(x_velocity)

    # 1. Stay upright: the episode ends at 0.2 rad
    upright_reward = 1.0 - torch.clamp(torch.abs(pitch) / 0.2, 0.0, 1.0)
    reward += 0.5 * upright_reward

    # 2. Move forward: the goal of the task
    forward_reward = torch.clamp(x_velocity, min=-1.0, max=5.0)
    reward += 1.0 * forward_reward

    # 3. A hop needs a flight phase: reward clearance only while moving forward
    flight_reward = torch.clamp(foot_clearance, 0.0, 0.2) / 0.2 * torch.clamp(x_velocity, 0.0, 2.0) / 2.0
    reward += 0.2 * flight_reward

    # 4. Penalize spinning
    spin_penalty = torch.clamp(pitch_velocity ** 2, max=25.0)
    reward -= 0.01 * spin_penalty

    # 5. Action smoothness
    reward -= 0.01 * torch.sum((action - prev_action) ** 2, dim=-1)

    return {"reward": reward}
