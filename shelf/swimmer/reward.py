def compute_reward(centre_velocity, heading, joint_position, joint_velocity, action, *, progress_weight: float = 1.0,
                   speed_scale: float = 0.3, top: float = 2.0, wave_weight: float = 0.12, wave_scale: float = 2.5,
                   effort_weight: float = 0.005):
    """Swim along +x by a wave that runs from front to back."""
    progress = progress_weight * torch.clamp(centre_velocity[:, 0] / speed_scale, -top, top)
    circling = joint_position[:, 0] * joint_velocity[:, 1] - joint_position[:, 1] * joint_velocity[:, 0]
    wave = wave_weight * torch.tanh(circling / wave_scale) * torch.cos(heading)
    effort = -effort_weight * action.square().mean(-1)
    return {"progress": progress, "wave": wave, "effort": effort}
