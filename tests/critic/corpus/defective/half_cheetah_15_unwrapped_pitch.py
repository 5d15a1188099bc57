# task: half_cheetah
# style: text2reward
# row: 19
# defect: pitch is not wrapped; after a full somersault (2 pi) the cheetah stands upright and still pays as if it were upside down
# severity: warn
import torch


def compute_reward(x_velocity, pitch, height, action):
    forward = torch.clamp(x_velocity, -2.0, 12.0)
    posture = -0.3 * torch.clamp(torch.abs(pitch), max=6.3)
    belly = -1.0 * torch.clamp(0.35 - height, min=0.0)
    control = -0.05 * torch.sum(action ** 2, dim=-1)
    return {"forward": forward, "posture": posture, "belly": belly, "control": control}
