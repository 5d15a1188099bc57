# task: ant
# style: comprehension
# row: 13
# defect: exp(-100 * sum of squared joint speeds) with speeds of 15 rad/s: dead when anything moves
# severity: warn
CALM_WEIGHT = 0.5
CALM_SHARPNESS = 100.0


def compute_reward(x_velocity, upright, joint_velocity, foot_force, healthy, action):
    moving = x_velocity > 0.1
    energy = sum(joint_velocity[:, i] ** 2 for i in range(8))
    return {
        "walk": 1.5 * x_velocity,
        "calm": CALM_WEIGHT * torch.exp(-CALM_SHARPNESS * energy) * moving,
        "upright": 0.3 * upright,
        "support": 0.05 * (foot_force > 1.0).sum(-1).clamp(max=3) * moving,
        "alive": 0.4 * healthy,
        "control": -0.1 * action.square().sum(-1),
    }
