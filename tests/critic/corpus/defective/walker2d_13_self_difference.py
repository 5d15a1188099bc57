# task: walker2d
# style: compact
# row: 14
# defect: symmetry compares the right leg with itself (both slices are the same): always 0.3
# severity: warn
RIGHT = slice(0, 3)
LEFT = slice(0, 3)


def compute_reward(x_velocity, pitch, joint_velocity, healthy, action, *, w_symmetry: float = 0.3):
    """Both legs should work equally."""
    right = joint_velocity[:, RIGHT].abs().mean(-1)
    left = joint_velocity[:, LEFT].abs().mean(-1)
    return {
        "forward": x_velocity.clamp(-1.0, 5.0),
        "symmetry": w_symmetry * torch.exp(-(right - left).abs() / 3.0),
        "level": -0.5 * pitch.square(),
        "alive": 0.5 * healthy,
        "control": -0.002 * action.square().sum(-1),
    }
