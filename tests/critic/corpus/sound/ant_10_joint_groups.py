# task: ant
# style: comprehension
HIPS = [0, 2, 4, 6]
ANKLES = [1, 3, 5, 7]
HIP_LIMIT = 0.52


def compute_reward(x_velocity, upright, joint_position, joint_velocity, healthy, action):
    """Walk with hips away from their limits and ankles that do not rattle."""
    hips = joint_position[:, HIPS]
    ankles = joint_velocity[:, ANKLES]
    components = {}
    components["walk"] = 2.0 * torch.tanh(x_velocity / 2.0) + 0.2 * x_velocity
    components["upright"] = 0.3 * upright
    components["hip_limits"] = -1.0 * torch.clamp(hips.abs() - 0.9 * HIP_LIMIT, min=0.0).sum(dim=-1)
    components["ankle_rattle"] = -0.0005 * torch.clamp(ankles.pow(2), max=100.0).sum(dim=-1)
    components["alive"] = 0.4 * healthy
    components["control"] = -0.1 * torch.stack([action[:, i] ** 2 for i in range(8)], dim=0).sum(dim=0)
    return components
