# task: ant
# style: eureka
# row: 23
# defect: asks for the fitness as an input
# severity: reject
import torch
from torch import Tensor
from typing import Dict, Tuple


@torch.jit.script
def compute_reward(x_velocity: Tensor, upright: Tensor, healthy: Tensor, fitness: Tensor, action: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    velocity_reward = 1.0 * x_velocity
    fitness_reward = 2.0 * fitness
    upright_reward = 0.3 * upright
    alive_reward = 0.5 * healthy
    control_penalty = -0.1 * torch.sum(action ** 2, dim=-1)
    total = velocity_reward + fitness_reward + upright_reward + alive_reward + control_penalty
    return total, {
        "velocity": velocity_reward,
        "fitness": fitness_reward,
        "upright": upright_reward,
        "alive": alive_reward,
        "control": control_penalty,
    }
