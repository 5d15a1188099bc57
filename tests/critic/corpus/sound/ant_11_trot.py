# task: ant
# style: text2reward
import torch


def compute_reward(x_velocity, y_velocity, angular_velocity, joint_velocity, upright, healthy, action):
    """A trot: diagonal legs (1 and 3, 2 and 4) move together.

    Hips 1 and 3 sit opposite each other, so that moving together along x means opposite angular velocities.
    """
    hip = joint_velocity[:, 0::2]
    hip1, hip2, hip3, hip4 = hip.unbind(dim=-1)

    # agreement in [0, 1], only paid while walking
    mismatch = (hip1 + hip3).abs() + (hip2 + hip4).abs()
    walking = torch.clamp(x_velocity, 0.0, 1.0)
    trot = 0.3 * torch.exp(-mismatch / 10.0) * walking

    forward = 2.0 * torch.clamp(x_velocity, min=-1.0, max=5.0)
    lateral = -0.5 * torch.clamp(torch.square(y_velocity), max=4.0)
    yaw = -0.05 * torch.clamp(torch.abs(angular_velocity[:, 2]), max=6.0)
    stay = 0.5 * healthy * torch.clamp(upright, min=0.0)
    cost = -0.05 * torch.sum(torch.square(action), dim=-1)

    return {"forward": forward, "trot": trot, "lateral": lateral, "yaw": yaw, "stay": stay, "cost": cost}
