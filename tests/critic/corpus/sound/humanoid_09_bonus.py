# task: humanoid
# style: sparse_bonus
import torch


def compute_reward(x_velocity, height, upright, healthy, joint_velocity, action):
    """Dense walking reward with a bonus from 1 m/s on while the torso is upright."""
    dense = torch.clamp(x_velocity, -1.0, 4.0)
    fast_and_upright = (x_velocity >= 1.0) & (upright > 0.8)
    bonus = 1.0 * fast_and_upright.to(torch.float32)
    stoop = -2.0 * torch.clamp(1.2 - height, min=0.0)
    alive = 3.0 * healthy
    shake = -0.002 * joint_velocity.abs().sum(dim=-1)
    control = -0.1 * action.square().sum(dim=-1)
    return {"dense": dense, "bonus": bonus, "stoop": stoop, "alive": alive, "shake": shake, "control": control}
