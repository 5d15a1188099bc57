# task: half_cheetah
# style: dm_control
_RUN_SPEED = 8.0


def compute_reward(x_velocity, upright):
    """dm_control's cheetah: rising up to the running speed, times being right side up."""
    run = tolerance(x_velocity, lower=_RUN_SPEED, upper=1000.0, margin=_RUN_SPEED)
    right_side_up = tolerance(upright, lower=0.8, upper=1.0, margin=1.0)
    return {"run": run * (1.0 + 3.0 * right_side_up) / 4.0}
