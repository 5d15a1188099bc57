# task: walker2d
# style: numpy
import numpy as np


def compute_reward(x_velocity, pitch, height, joint_velocity, action, healthy):
    # speed
    speed = np.clip(x_velocity, -1.0, 4.0)
    # posture
    upright = 0.5 * np.cos(pitch)
    # energy, the joints of a walker reach 40 rad/s
    energy = -5e-4 * np.clip(np.sum(np.abs(action * joint_velocity), axis=-1), 0.0, 200.0)
    # stay in the healthy range
    alive = 0.5 * healthy
    # softly avoid crouching
    crouch = -2.0 * np.maximum(1.0 - height, 0.0)
    return {"speed": speed, "upright": upright, "energy": energy, "alive": alive, "crouch": crouch}
