# task: ant
# style: sparse_bonus
import torch


def compute_reward(x_velocity, y_position, healthy, contact_load, action, *, goal_speed: float = 1.0, lane_width: float = 1.5):
    """A bonus at goal speed within the lane, over a dense term."""
    in_lane = torch.abs(y_position) < lane_width
    fast = x_velocity > goal_speed
    return {
        "dense": 1.0 * torch.clamp(x_velocity, -1.0, 5.0),
        "bonus": 0.5 * torch.logical_and(in_lane, fast).float(),
        "out_of_lane": -0.1 * torch.clamp(torch.abs(y_position) - lane_width, 0.0, 5.0),
        "alive": 0.5 * healthy,
        "impact": -0.002 * contact_load,
        "control": -0.1 * torch.sum(action ** 2, dim=-1),
    }
