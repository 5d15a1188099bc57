# task: hopper
# style: numpy
# row: 9
# defect: log of the velocity, which is NaN when the robot moves backwards and -inf at rest
# severity: reject
import numpy as np


def compute_reward(x_velocity, pitch, healthy, action):
    speed = np.log(1e-3 + x_velocity)
    level = 0.5 * np.exp(-50.0 * np.square(pitch))
    alive = 0.5 * healthy
    control = -0.001 * np.sum(np.square(action), axis=-1)
    return {"speed": 0.3 * speed, "level": level, "alive": alive, "control": control}
