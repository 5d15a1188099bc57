# task: humanoid
# style: eureka
# row: 20
# defect: indices of the simulator's qpos (with 7 of the free joint in front) into joint_position: the last is out of range
# severity: reject
import torch
from typing import Dict

RIGHT_KNEE, LEFT_KNEE = 13, 17


def compute_reward(x_velocity: torch.Tensor, height: torch.Tensor, upright: torch.Tensor, joint_position: torch.Tensor, healthy: torch.Tensor, action: torch.Tensor) -> Dict[str, torch.Tensor]:
    knees = joint_position[:, RIGHT_KNEE].abs() + joint_position[:, LEFT_KNEE].abs()
    return {
        "forward": 1.5 * x_velocity.clamp(-1.0, 5.0),
        "knees": -0.1 * torch.clamp(knees - 2.0, min=0.0),
        "tall": -3.0 * torch.clamp(1.3 - height, min=0.0),
        "upright": 0.5 * upright,
        "alive": 2.0 * healthy,
        "effort": -0.1 * action.square().sum(-1),
    }
