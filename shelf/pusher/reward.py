def _gap(to_object, to_goal, goal_distance, behind, height_stretch):
    direction = to_goal / (goal_distance + 0.03).unsqueeze(-1)
    xy = to_object[:, :2] - behind * direction
    z = height_stretch * to_object[:, 2]
    return (xy.square().sum(-1) + z.square() + 1e-8).sqrt()


def compute_reward(to_object, prev_to_object, to_goal, prev_to_goal,
                   goal_distance, prev_goal_distance, *,
                   behind: float = 0.08, height_stretch: float = 2.0,
                   reach_weight: float = 6.0, reach_soft: float = 0.12,
                   push_weight: float = 20.0, push_soft: float = 0.05,
                   bound: float = 1.5, end_weight: float = 1.0, end_width: float = 0.06):
    """Relative change of what is missing, and one large term at the end."""
    gap = _gap(to_object, to_goal, goal_distance, behind, height_stretch)
    prev_gap = _gap(prev_to_object, prev_to_goal, prev_goal_distance, behind, height_stretch)
    reach = reach_weight * torch.log((prev_gap + reach_soft) / (gap + reach_soft))
    reach = reach.clamp(-bound, bound)

    push = push_weight * torch.log((prev_goal_distance + push_soft) / (goal_distance + push_soft))
    push = push.clamp(-bound, bound)

    end = end_weight / (1.0 + (goal_distance / end_width).square())
    return {"reach": reach, "push": push, "end": end}
