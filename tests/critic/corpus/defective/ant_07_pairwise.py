# task: ant
# style: functional
# row: 6
# defect: compares every world with every other (N x N x 8): quadratic in time and memory
# severity: reject
import torch


def compute_reward(x_velocity, upright, joint_position, healthy, action, *, novelty_weight: float = 0.1):
    """Forward speed plus a bonus for unusual poses."""
    difference = joint_position[:, None, :] - joint_position[None, :, :]
    distance = difference.square().sum(-1).sqrt()
    novelty = novelty_weight * torch.tanh(distance.mean(dim=1))
    return {
        "forward": 1.5 * x_velocity,
        "novelty": novelty,
        "upright": 0.3 * upright,
        "alive": 0.5 * healthy,
        "control": -0.1 * action.square().sum(-1),
    }
