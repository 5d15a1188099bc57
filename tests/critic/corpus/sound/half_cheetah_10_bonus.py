# task: half_cheetah
# style: sparse_bonus
def compute_reward(x_velocity, upright, pitch_velocity, action):
    dense = 0.5 * x_velocity
    right_side_up = upright > 0.7
    running = x_velocity > 2.0
    bonus = 1.0 * (right_side_up & running).float()
    flipped = -1.0 * (upright < 0.0).float()
    tumble = -0.005 * pitch_velocity.square().clamp(max=100.0)
    control = -0.05 * action.square().sum(dim=-1)
    return {"dense": dense, "bonus": bonus, "flipped": flipped, "tumble": tumble, "control": control}
