# task: walker2d
# style: dm_control
_STAND_HEIGHT = 1.2
_WALK_SPEED = 1.5


def compute_reward(x_velocity, height, pitch):
    """dm_control's planar walker: standing times moving."""
    standing = tolerance(height, lower=_STAND_HEIGHT, upper=2.0, margin=_STAND_HEIGHT / 2)
    upright = (1 + torch.cos(pitch)) / 2
    stand_reward = (3 * standing + upright) / 4
    move_reward = tolerance(x_velocity, lower=_WALK_SPEED, upper=20.0, margin=_WALK_SPEED)
    return {"stand": 0.3 * stand_reward, "walk": stand_reward * (5 * move_reward + 1) / 6}
