# task: humanoid
# style: text2reward
import torch


def compute_reward(x_velocity, y_position, height, upright, heading, foot_clearance, foot_force, action, prev_action):
    reward_components = {}

    # Stage 1: standing. Without it nothing else is worth anything.
    tall = torch.clamp((height - 1.0) / 0.4, 0.0, 1.0)
    standing = 0.5 * tall + 0.5 * torch.clamp(upright, 0.0, 1.0)
    reward_components["standing"] = 2.0 * standing

    # Stage 2: walking. Full value only while standing well.
    reward_components["walking"] = 2.0 * torch.clamp(x_velocity, -0.5, 3.0) * standing

    # Stage 3: stepping. One foot leaves the ground while the other one bears the load.
    right_load, left_load = foot_force[:, 0] > 20.0, foot_force[:, 1] > 20.0
    stepping = torch.logical_xor(right_load, left_load).float() * torch.clamp(foot_clearance.max(dim=-1).values, 0.0, 0.1) / 0.1
    reward_components["stepping"] = 0.3 * stepping * torch.clamp(x_velocity, 0.0, 1.0)

    # Course
    reward_components["course"] = -0.3 * (1.0 - torch.cos(heading)) - 0.1 * torch.clamp(torch.abs(y_position), max=3.0)

    # Smooth actions
    reward_components["smooth"] = -0.2 * torch.sum((action - prev_action) ** 2, dim=-1)

    return reward_components
