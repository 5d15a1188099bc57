# task: walker2d
# style: gated
def compute_reward(x_velocity, pitch, height, foot_clearance, joint_velocity,
                   *, posture_temperature: float = 0.4, low: float = 0.9, sharpness: float = 20.0, speed_weight: float = 1.2,
                   lift_weight: float = 0.3, damp_weight: float = 2e-4):
    """Speed multiplied by posture, plus lifting the feet, minus thrashing joints."""
    posture = torch.exp(-pitch.abs() / posture_temperature) * torch.sigmoid(sharpness * (height - low))
    speed = speed_weight * torch.clamp(x_velocity, -1.0, 5.0) * torch.where(x_velocity > 0, posture, torch.ones_like(posture))
    lift = lift_weight * posture * torch.clamp(foot_clearance.amax(dim=-1) / 0.15, 0.0, 1.0) * torch.tanh(x_velocity.clamp(min=0.0))
    damp = -damp_weight * joint_velocity.square().sum(-1).clamp(max=5000.0)
    return {"speed": speed, "posture": 0.4 * posture, "lift": lift, "damp": damp}
