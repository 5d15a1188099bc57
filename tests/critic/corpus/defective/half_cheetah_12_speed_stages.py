# task: half_cheetah
# style: text2reward
# row: 17
# defect: beyond 2 m/s the reward switches from speed to efficiency and falls by 1.5
# severity: warn
import torch


def compute_reward(x_velocity, upright, joint_velocity, action):
    # below 2 m/s: accelerate
    accelerate = x_velocity
    # from 2 m/s on: keep the speed at low power
    power = torch.sum(torch.abs(action * joint_velocity), dim=-1)
    efficient = 0.5 * torch.exp(-power / 50.0) + 0.1 * (x_velocity - 2.0)
    stage = torch.where(x_velocity < 2.0, accelerate, efficient)
    side = 0.5 * upright
    control = -0.05 * torch.sum(action ** 2, dim=-1)
    return {"stage": stage, "side": side, "control": control}
