# task: walker2d
# style: dm_control
# row: 12
# defect: full reward for any speed from 0.1 m/s on
# severity: warn
_STAND_HEIGHT = 1.2
_WALK_SPEED = 0.1


def compute_reward(x_velocity, height, pitch, action):
    """Standing times walking times small control."""
    standing = tolerance(height, lower=_STAND_HEIGHT, upper=2.0, margin=_STAND_HEIGHT / 2)
    upright = (1 + torch.cos(pitch)) / 2
    stand = (3 * standing + upright) / 4
    move = tolerance(x_velocity, lower=_WALK_SPEED, upper=20.0, margin=_WALK_SPEED)
    small_control = (4 + tolerance(action, lower=0.0, upper=0.0, margin=1.0).mean(dim=-1)) / 5
    return {"walk": small_control * stand * (5 * move + 1) / 6}
