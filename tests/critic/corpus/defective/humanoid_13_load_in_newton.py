# task: humanoid
# style: eureka
# row: 13
# defect: contact_load is in squared newtons (1e4 to 1e6); exp(-load / 0.5) is 0 whenever a foot is down
# severity: warn
import torch


def compute_reward(x_velocity, height, upright, contact_load, healthy, action):
    contact_temperature = 0.5
    forward = 1.5 * torch.clamp(x_velocity, -1.0, 5.0)
    gentle = 0.5 * torch.exp(-contact_load / contact_temperature) * (upright > 0.8) * (x_velocity > 0.5)
    posture = 1.0 * upright - 3.0 * torch.clamp(1.3 - height, min=0.0)
    control = -0.1 * torch.sum(action ** 2, dim=-1)
    return {"forward": forward, "gentle": gentle, "posture": posture, "alive": 2.0 * healthy, "control": control}
