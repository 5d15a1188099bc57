# task: hopper
# style: dm_control
def compute_reward(x_velocity, height, action, *, target_speed: float = 2.0):
    """As dm_control's hopper-hop: standing times hopping, with a factor for small control."""
    standing = tolerance(height, lower=0.9, upper=2.0, margin=0.3)
    hopping = tolerance(x_velocity, lower=target_speed, upper=10.0, margin=2.0)
    small_control = tolerance(action, lower=0.0, upper=0.0, margin=1.0).mean(dim=-1)
    small_control = (4 + small_control) / 5
    return {"hop": standing * hopping * small_control}
