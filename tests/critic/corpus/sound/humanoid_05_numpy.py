# task: humanoid
# style: numpy
import numpy as np


def compute_reward(x_velocity, y_velocity, height, upright, action, healthy):
    velocity = 1.5 * np.clip(x_velocity, -1.0, 5.0)
    posture = np.exp(-3.0 * (1.0 - upright))
    tall = np.clip((height - 1.0) / 0.4, 0.0, 1.0)
    side = -0.2 * np.abs(y_velocity)
    effort = -0.2 * np.sum(np.square(action), axis=-1)
    return {"velocity": velocity, "posture": posture, "tall": tall, "side": side, "effort": effort, "alive": 2.0 * healthy}
