# task: ant
# style: potential
# row: 31
# defect: the weight differs with the sign of the change, so that the differences do not telescope: turning back and forth pays
# severity: reject
import torch

GAMMA = 0.99


def compute_reward(x_velocity, heading, prev_heading, upright, healthy, action):
    """Forward speed, with shaping towards +x."""
    turn = prev_heading.abs() - heading.abs()
    # turning the right way counts fully, the wrong way only a little
    shaping = torch.where(turn > 0, 5.0 * turn, 0.5 * turn)
    return {
        "forward": 1.5 * x_velocity.clamp(-1.0, 5.0),
        "shaping": shaping,
        "upright": 0.3 * upright,
        "alive": 0.5 * healthy,
        "control": -0.1 * action.square().sum(-1),
    }
