# task: humanoid
# style: gated
# row: 17
# defect: the standing reward is only paid below the walking threshold, so that reaching 0.5 m/s loses 3 per step
# severity: warn
def compute_reward(x_velocity, height, upright, healthy, action, *, walk_threshold: float = 0.5, stand_weight: float = 3.0, walk_weight: float = 1.0):
    """Stage 1 standing, stage 2 walking."""
    standing = ((height - 1.0) / 0.4).clamp(0.0, 1.0) * upright.clamp(0.0, 1.0)
    walking = (x_velocity > walk_threshold).float()
    return {
        "stand": stand_weight * standing * (1.0 - walking),
        "walk": walk_weight * walking * x_velocity.clamp(max=4.0),
        "alive": 2.0 * healthy,
        "effort": -0.1 * action.square().sum(-1),
    }
