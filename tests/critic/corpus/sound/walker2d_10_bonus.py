# task: walker2d
# style: sparse_bonus
import torch


def compute_reward(x_velocity, pitch, foot_clearance, healthy, action, *, walk_speed: float = 1.0, run_speed: float = 2.5):
    """Bonuses at walking and running speed over a dense linear term."""
    dense = 0.5 * x_velocity
    walking = 0.5 * torch.ge(x_velocity, walk_speed).float()
    running = 0.5 * torch.ge(x_velocity, run_speed).float()
    both_flying = -0.2 * (foot_clearance > 0.05).all(dim=-1).float()
    level = 0.2 * (pitch.abs() < 0.3).float()
    alive = 0.5 * healthy
    control = -0.001 * action.pow(2).sum(dim=-1)
    return {
        "dense": dense,
        "walking": walking,
        "running": running,
        "both_flying": both_flying,
        "level": level,
        "alive": alive,
        "control": control,
    }
