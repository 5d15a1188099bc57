# task: hopper
# style: functional
# row: 18
# defect: the cost of tipping has a negative weight in front of a negative square: it pays for tipping fast
# severity: warn
import torch


def compute_reward(x_velocity, pitch, pitch_velocity, healthy, action, *, tip_weight: float = -0.02, level_weight: float = 2.0):
    forward = x_velocity.clamp(-1.0, 5.0)
    level = -level_weight * pitch.square()
    tipping = -tip_weight * pitch_velocity.square().clamp(max=25.0)
    control = -0.001 * action.square().sum(-1)
    return {"forward": forward, "level": level, "tipping": tipping, "alive": 0.5 * healthy, "control": control}
