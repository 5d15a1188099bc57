# task: half_cheetah
# style: numpy
import numpy as np


def compute_reward(x_velocity, pitch, pitch_velocity, action):
    """pitch is not wrapped, so its cosine is what tells the side."""
    run = np.clip(x_velocity, -2.0, 10.0)
    side = 0.5 * np.cos(pitch)
    rock = -0.02 * np.minimum(np.abs(pitch_velocity), 8.0)
    ctrl = -0.05 * np.mean(np.square(action), axis=-1)
    return {"run": run, "side": side, "rock": rock, "ctrl": ctrl}
