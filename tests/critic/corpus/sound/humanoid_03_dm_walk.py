# task: humanoid
# style: dm_control
_STAND_HEIGHT = 1.3
_WALK_SPEED = 1.5


def compute_reward(x_velocity, height, upright, action):
    """dm_control's humanoid walk: small_control * stand_reward * move."""
    standing = tolerance(height, lower=_STAND_HEIGHT, upper=2.0, margin=_STAND_HEIGHT / 4)
    up = tolerance(upright, lower=0.9, upper=1.0, margin=1.9)
    stand_reward = standing * up
    small_control = tolerance(action, lower=0.0, upper=0.0, margin=0.4).mean(dim=-1)
    small_control = (4 + small_control) / 5
    move = tolerance(x_velocity, lower=_WALK_SPEED, upper=20.0, margin=_WALK_SPEED)
    move = (5 * move + 1) / 6
    return {"walk": small_control * stand_reward * move}
