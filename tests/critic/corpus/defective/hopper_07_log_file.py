# task: hopper
# style: text2reward
# row: 5
# defect: writes its components to a file for debugging
# severity: reject
import torch


def compute_reward(x_velocity, height, pitch, healthy, action):
    forward = torch.clamp(x_velocity, -1.0, 5.0)
    posture = 0.5 * torch.exp(-50.0 * pitch ** 2) * torch.clamp((height - 0.7) / 0.5, 0.0, 1.0)
    alive = 0.5 * healthy
    control = -0.001 * torch.sum(action ** 2, dim=-1)
    # keep a trace for debugging
    with open("reward_log.txt", "a") as log:
        log.write(str(forward.mean()) + "\n")
    return {"forward": forward, "posture": posture, "alive": alive, "control": control}
