# task: walker2d
# style: compact
RIGHT = slice(0, 3)
LEFT = slice(3, 6)


def compute_reward(x_velocity, pitch, joint_position, action, healthy, *, w_speed: float = 1.0, w_alive: float = 0.5, w_balance: float = 0.01, w_effort: float = 0.002):
    """Both legs should do the same amount of work; neither is dragged along."""
    right_effort = action[:, RIGHT].abs().sum(-1)
    left_effort = action[:, LEFT].abs().sum(-1)
    imbalance = (right_effort - left_effort).square()
    hips = (joint_position[:, 0] - joint_position[:, 3]).abs().clamp(max=1.2)
    return {
        "speed": w_speed * x_velocity.clamp(-1.0, 5.0),
        "alive": w_alive * healthy,
        "balance": -w_balance * imbalance,
        "scissor": 0.2 * hips * (x_velocity > 0.3),
        "lean": -0.3 * (pitch - 0.1).square(),
        "effort": -w_effort * action.square().sum(-1),
    }
