# task: walker2d
# style: helpers
# row: 8
# defect: a module-level dictionary holds the fastest speed so far
# severity: reject
import torch

_BEST = {"speed": 0.0}


def compute_reward(x_velocity, pitch, healthy, action):
    """Beating the record pays extra."""
    record = _BEST["speed"]
    _BEST["speed"] = max(record, float(x_velocity.max()))
    beaten = 1.0 * (x_velocity > record).float()
    forward = x_velocity.clamp(-1.0, 5.0)
    level = -0.5 * pitch.square()
    control = -0.002 * action.square().sum(-1)
    return {"forward": forward, "record": beaten, "level": level, "alive": 0.5 * healthy, "control": control}
