# task: ant
# style: text2reward
import torch


def compute_reward(x_velocity, y_position, heading, upright, angular_velocity, action, prev_action, healthy):
    # milestone 1: remain healthy and upright
    survive_reward = 0.5 * healthy
    tilt_penalty = 1.0 - upright

    # milestone 2: face the +x axis
    heading_error = torch.abs(heading) / 3.14159
    heading_reward = 1.0 - heading_error

    # milestone 3: walk. Walking is worth more when the robot faces forward
    walk_reward = x_velocity * (0.5 + 0.5 * torch.cos(heading))

    # regularization: lane keeping, no rolling and pitching, smooth actions
    lane_penalty = torch.clamp(torch.abs(y_position) - 1.0, 0.0, 3.0)
    roll_pitch_penalty = torch.clamp(torch.sum(angular_velocity[:, :2] ** 2, dim=1), max=30.0)
    smooth_penalty = torch.sum((action - prev_action) ** 2, dim=1)

    return {
        "survive": survive_reward,
        "tilt": -0.5 * tilt_penalty,
        "heading": 0.2 * heading_reward,
        "walk": 1.5 * walk_reward,
        "lane": -0.2 * lane_penalty,
        "roll_pitch": -0.01 * roll_pitch_penalty,
        "smooth": -0.02 * smooth_penalty,
    }
