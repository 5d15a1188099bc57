# task: ant
# style: functional
import torch
import torch.nn.functional as F


def compute_reward(x_velocity, heading, foot_force, joint_velocity, action, healthy, *, speed_weight: float = 1.5, impact_weight: float = 0.001, impact_limit: float = 80.0, power_weight: float = 0.005):
    """Run; some feet on the ground, none slammed onto it."""
    speed = speed_weight * F.elu(x_velocity)
    impact = -impact_weight * F.relu(foot_force - impact_limit).sum(dim=-1)
    on_ground = (foot_force > 1.0).sum(dim=-1).float()
    support = 0.1 * torch.exp(-((on_ground - 2.0) ** 2) / 2.0) * (x_velocity > 0.2).float()
    course = -0.2 * (1.0 - torch.cos(heading))
    power = -power_weight * (action.abs().sum(dim=-1) + 0.02 * joint_velocity.abs().sum(dim=-1))
    alive = 0.3 * healthy
    return {"speed": speed, "impact": impact, "support": support, "course": course, "power": power, "alive": alive}
