# task: walker2d
# style: text2reward
# row: 6
# defect: a python loop over the worlds, with .item() for each
# severity: reject
import torch


def compute_reward(x_velocity, pitch, height, foot_clearance, action):
    posture = torch.zeros_like(x_velocity)
    gait = torch.zeros_like(x_velocity)
    for i in range(x_velocity.shape[0]):
        lean = abs(pitch[i].item())
        tall = max(0.0, min(1.0, (height[i].item() - 0.8) / 0.4))
        posture[i] = 0.5 * tall * (1.0 - min(lean, 1.0))
        clear = [foot_clearance[i, j].item() > 0.02 for j in range(2)]
        gait[i] = 0.2 if clear[0] != clear[1] and x_velocity[i].item() > 0.2 else 0.0
    forward = torch.clamp(x_velocity, -1.0, 5.0)
    effort = -0.002 * (action ** 2).sum(dim=-1)
    return {"forward": forward, "posture": posture, "gait": gait, "effort": effort}
