# task: half_cheetah
# style: potential
# row: 31
# defect: progress is clamped at 0 from below: rocking back and forth pays for each way forward
# severity: reject
import torch


def compute_reward(x_position, prev_x_position, upright, action):
    """Progress along x; never negative, so that exploring costs nothing."""
    progress = torch.clamp((x_position - prev_x_position) / 0.05, min=0.0)
    side = 0.5 * upright
    control = -0.02 * torch.sum(action ** 2, dim=-1)
    return {"progress": progress, "side": side, "control": control}
