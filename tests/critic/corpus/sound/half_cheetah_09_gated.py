# task: half_cheetah
# style: gated
import torch


def compute_reward(
    x_velocity: torch.Tensor,
    upright: torch.Tensor,
    height: torch.Tensor,
    foot_clearance: torch.Tensor,
    action: torch.Tensor,
    *,
    gate_slope: float = 6.0,
    gate_middle: float = 0.5,
    speed_weight: float = 1.0,
    stride_weight: float = 0.2,
    control_weight: float = 0.05,
) -> dict:
    """Smooth gate on `upright`; inside it speed and lifted feet pay."""
    gate = torch.sigmoid(gate_slope * (upright - gate_middle))
    speed = speed_weight * torch.clamp(x_velocity, min=-1.0) * gate
    lifted = torch.clamp(foot_clearance, 0.0, 0.3).sum(dim=-1)
    stride = stride_weight * gate * lifted * torch.clamp(x_velocity, 0.0, 3.0)
    belly = -1.0 * torch.relu(0.35 - height)
    control = -control_weight * action.pow(2).sum(dim=-1)
    return {"speed": speed, "stride": stride, "belly": belly, "gate": 0.3 * gate, "control": control}
