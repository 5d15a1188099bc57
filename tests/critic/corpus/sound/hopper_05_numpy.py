# task: hopper
# style: numpy
import numpy as np


def compute_reward(x_velocity, height, pitch, healthy, action):
    forward_reward = 1.25 * np.clip(x_velocity, -1.0, 6.0)
    posture_reward = 0.5 * np.exp(-10.0 * np.square(pitch)) * np.exp(-5.0 * np.square(np.minimum(height - 1.1, 0.0)))
    alive_reward = 0.5 * healthy
    ctrl_cost = -0.001 * np.sum(np.square(action), axis=1)
    return {
        "forward_reward": forward_reward,
        "posture_reward": posture_reward,
        "alive_reward": alive_reward,
        "ctrl_cost": ctrl_cost,
    }
