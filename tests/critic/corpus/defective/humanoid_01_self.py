# task: humanoid
# style: text2reward
# row: 1
# defect: method style, reads attributes of a made-up `self`
# severity: reject
import torch


def compute_reward(self, action):
    # velocity of the torso
    velocity = self.root_states[:, 7]
    reward_velocity = torch.clamp(velocity, -1.0, 4.0)

    # height of the torso
    height = self.root_states[:, 2]
    reward_height = torch.exp(-torch.abs(height - 1.4) / 0.2)

    # penalties
    reward_action = -0.1 * torch.sum(action ** 2, dim=-1)
    reward_dof = -0.0001 * torch.sum(self.dof_vel ** 2, dim=-1)

    return {"velocity": reward_velocity, "height": reward_height, "action": reward_action, "dof": reward_dof}
