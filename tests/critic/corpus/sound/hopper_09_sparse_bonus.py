# task: hopper
# style: sparse_bonus
def compute_reward(x_velocity, healthy, foot_clearance, joint_velocity, *, bonus_speed: float = 1.0, bonus: float = 0.5):
    """Dense speed, plus a bonus for each step above the wanted speed, plus a small cost of motion."""
    fast = (x_velocity > bonus_speed).float()
    airborne = (foot_clearance > 0.02).float()
    return {
        "speed": x_velocity.clamp(-2.0, 5.0),
        "bonus": bonus * fast * healthy,
        "flight": 0.1 * airborne * fast,
        "motion": -0.0005 * joint_velocity.square().sum(-1).clamp(max=400.0),
        "healthy": 0.3 * healthy,
    }
