# task: walker2d
# style: functional
# row: 9
# defect: divides by the distance between the feet: 0 / 0 only when both stand at the same x
# severity: reject
import torch


def compute_reward(x_velocity, pitch, foot_position, foot_clearance, healthy, action):
    """Walk; the weight should be shared between the feet in proportion to their distance from the torso."""
    right, left = foot_position.unbind(dim=-1)
    share = (right.abs() - left.abs()) / (right - left)
    balance = -0.1 * share.square()
    lift = 0.2 * foot_clearance.amax(-1).clamp(0.0, 0.15) / 0.15 * (x_velocity > 0.2)
    forward = x_velocity.clamp(-1.0, 5.0)
    level = -0.5 * pitch.square()
    return {"forward": forward, "balance": balance, "lift": lift, "level": level, "alive": 0.5 * healthy, "control": -0.002 * action.square().sum(-1)}
