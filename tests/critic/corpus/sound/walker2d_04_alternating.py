# task: walker2d
# style: text2reward
import torch


def compute_reward(x_velocity, height, pitch, foot_clearance, foot_position, prev_foot_position, action):
    # The gait must use both legs. A walking gait has one foot in the air (swing leg, moving forward
    # relative to the torso) while the other is on the ground (stance leg, moving backward).
    right_clearance, left_clearance = foot_clearance[:, 0], foot_clearance[:, 1]

    # --- forward motion -------------------------------------------------
    forward = torch.clamp(x_velocity, -1.0, 3.0)

    # --- exactly one foot on the ground ---------------------------------
    right_down = right_clearance < 0.01
    left_down = left_clearance < 0.01
    single_support = torch.logical_xor(right_down, left_down).float()
    gait = 0.2 * single_support * torch.clamp(x_velocity, 0.0, 1.0)

    # --- the foot in the air swings forward -----------------------------
    foot_speed = (foot_position - prev_foot_position) / 0.008
    in_air = torch.clamp(foot_clearance, 0.0, 0.1) / 0.1
    swing = 0.05 * torch.clamp((in_air * foot_speed).sum(dim=-1), -2.0, 2.0) * (x_velocity > 0.2).float()

    # --- posture --------------------------------------------------------
    posture = -0.5 * pitch ** 2 - 1.0 * torch.clamp(1.1 - height, min=0.0)

    # --- effort ---------------------------------------------------------
    effort = -0.003 * (action ** 2).sum(dim=-1)

    return {"forward": forward, "gait": gait, "swing": swing, "posture": posture, "effort": effort}
