# task: walker2d
# style: comprehension
JOINT_COST = {"thigh": 1.0, "leg": 1.0, "foot": 0.3}


def compute_reward(x_velocity, height, pitch, joint_position, action):
    """Forward speed with a weighted control cost and a comfort range of each knee."""
    costs = list(JOINT_COST.values()) * 2
    weights = torch.tensor(costs, dtype=action.dtype, device=action.device)
    control = -0.003 * (weights * action ** 2).sum(dim=-1)
    knees = torch.stack([joint_position[:, i] for i in (1, 4)], dim=-1)
    comfort = -0.3 * torch.clamp(-knees - 1.2, min=0.0).sum(dim=-1)
    speed = 4.0 * torch.tanh(x_velocity / 4.0)
    posture = 0.5 * torch.exp(-4.0 * pitch ** 2) * torch.clamp((height - 0.8) / 0.4, 0.0, 1.0)
    return dict(speed=speed, posture=posture, comfort=comfort, control=control)
