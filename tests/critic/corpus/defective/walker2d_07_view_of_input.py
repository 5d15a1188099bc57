# task: walker2d
# style: functional
# row: 7
# defect: writes zeros into a slice that is a view of joint_velocity
# severity: reject
import torch


def compute_reward(x_velocity, pitch, joint_velocity, healthy, action):
    """Ankles move fast on touchdown; leave them out of the cost."""
    costed = joint_velocity.view(-1, 2, 3)
    costed[:, :, 2] = 0.0
    motion = -2e-4 * torch.clamp(costed.square().sum(dim=(1, 2)), max=3000.0)
    forward = x_velocity.clamp(-1.0, 5.0)
    level = -0.5 * pitch.square()
    return {"forward": forward, "level": level, "motion": motion, "alive": 0.5 * healthy, "control": -0.002 * action.square().sum(-1)}
