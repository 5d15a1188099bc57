# task: ant
# style: functional
# row: 20
# defect: power pairs action and joint velocity by column, but the action lists the joints in another order
# severity: warn
import torch


def compute_reward(x_velocity, y_velocity, upright, joint_velocity, healthy, action, *, power_weight: float = 0.005):
    """Forward speed at low mechanical power."""
    power = (action * joint_velocity).abs().sum(dim=-1)
    return {
        "speed": 1.5 * x_velocity,
        "power": -power_weight * power,
        "drift": -0.2 * y_velocity.abs(),
        "upright": 0.3 * upright,
        "alive": 0.5 * healthy,
    }
