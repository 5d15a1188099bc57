STAGES = ("left", "right", "left_again", "rest")


def next_stage(stage, position, *, mark: float = 0.81):
    at_left = position < -mark
    at_right = position > mark
    after = torch.where((stage == 0) & at_left, 1, stage)
    after = torch.where((stage == 1) & at_right, 2, after)
    after = torch.where((stage == 2) & at_left, 3, after)
    return after


def compute_reward(position, velocity, stage, prev_stage, *, toward_weight: float = 0.2, touch_weight: float = 1.0,
                   still_weight: float = 1.0, wide_place: float = 0.4, wide_speed: float = 0.8,
                   narrow_place: float = 0.1, narrow_speed: float = 0.15):
    """Left, right, left, then still in the middle."""
    to_middle = -torch.sign(position)
    direction = torch.where(prev_stage == 1, torch.ones_like(position), -torch.ones_like(position))
    direction = torch.where(prev_stage == 3, to_middle, direction)
    toward = torch.clamp(toward_weight * direction * velocity, -1.0, 1.0)

    touch = touch_weight * torch.where(stage > prev_stage, torch.ones_like(position), torch.zeros_like(position))

    wide = tolerance(position, margin=wide_place) * tolerance(velocity, margin=wide_speed)
    narrow = tolerance(position, margin=narrow_place) * tolerance(velocity, margin=narrow_speed)
    rest = 0.5 * wide + 0.5 * narrow
    still = still_weight * torch.where(stage == 3, rest, torch.zeros_like(rest))
    return {"toward": toward, "touch": touch, "still": still}
