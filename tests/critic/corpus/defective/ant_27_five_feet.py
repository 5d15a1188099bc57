# task: ant
# style: gated
# row: 25
# defect: the all-feet bonus needs more than 4 of the 4 feet
# severity: warn
def compute_reward(x_velocity, upright, foot_force, heading, healthy, action, *, stance_weight: float = 0.5):
    """Run, and stand on all feet when slow."""
    feet_down = (foot_force > 1.0).sum(dim=-1)
    slow = x_velocity.abs() < 0.3
    return {
        "run": 1.5 * x_velocity,
        "stance": stance_weight * ((feet_down > 4) & slow).float(),
        "course": 0.2 * torch.cos(heading),
        "upright": 0.3 * upright,
        "alive": 0.5 * healthy,
        "control": -0.1 * action.square().sum(-1),
    }
