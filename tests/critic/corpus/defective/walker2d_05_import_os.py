# task: walker2d
# style: numpy
# row: 5
# defect: imports os to read a weight from the environment
# severity: reject
import os

import numpy as np

FORWARD_WEIGHT = float(os.environ.get("FORWARD_WEIGHT", "1.0"))


def compute_reward(x_velocity, pitch, healthy, action):
    forward = FORWARD_WEIGHT * np.clip(x_velocity, -1.0, 5.0)
    level = -0.5 * np.square(pitch)
    control = -0.002 * np.sum(np.square(action), axis=-1)
    return {"forward": forward, "level": level, "control": control, "alive": 0.5 * healthy}
