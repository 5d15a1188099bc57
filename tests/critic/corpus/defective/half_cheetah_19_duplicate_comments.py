# task: half_cheetah
# style: text2reward
# row: 45
# defect: sound/half_cheetah_01_gymnasium in another layout, with comments and annotations: the same behaviour
# severity: warn
# duplicate_of: sound/half_cheetah_01_gymnasium.py
import torch


def compute_reward(x_velocity: torch.Tensor, action: torch.Tensor, *, w_run: float = 1.0, w_effort: float = 0.1) -> dict:
    # The faster the better.
    running_term = w_run * x_velocity

    # Large actions are expensive.
    squares = torch.square(action)
    effort_term = -w_effort * torch.sum(squares, dim=-1)

    return {"running_term": running_term, "effort_term": effort_term}
