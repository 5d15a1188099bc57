# task: ant
# style: eureka
# row: 22
# defect: costs are subtracted in the total but logged with a plus sign
# severity: warn
import torch


def compute_reward(x_velocity, y_velocity, upright, healthy, contact_load, action):
    forward = 1.5 * x_velocity
    posture = 0.3 * upright
    alive = 0.5 * healthy
    drift_cost = 0.2 * torch.abs(y_velocity)
    control_cost = 0.2 * torch.sum(action ** 2, dim=-1)
    contact_cost = 0.005 * contact_load
    total = forward + posture + alive - drift_cost - control_cost - contact_cost
    return total, {
        "forward": forward,
        "posture": posture,
        "alive": alive,
        "drift_cost": drift_cost,
        "control_cost": control_cost,
        "contact_cost": contact_cost,
    }
