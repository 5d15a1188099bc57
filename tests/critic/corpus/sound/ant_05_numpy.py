# task: ant
# style: numpy
import numpy as np


def compute_reward(x_velocity, y_velocity, z_velocity, upright, action, healthy):
    forward = 1.5 * np.clip(x_velocity, -1.0, 8.0)
    sideways = -0.3 * np.abs(y_velocity)
    hop = -0.1 * np.minimum(np.square(z_velocity), 10.0)
    tilt = -0.5 * (1.0 - upright)
    ctrl = -0.1 * np.sum(np.square(action), axis=-1)
    return {"forward": forward, "sideways": sideways, "hop": hop, "tilt": tilt, "ctrl": ctrl, "alive": 0.5 * healthy}
