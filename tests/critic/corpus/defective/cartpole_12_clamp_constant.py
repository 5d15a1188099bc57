# task: cartpole
# style: numpy
# row: 14
# defect: np.clip with a lower bound above the range: the rail term is always the bound
# severity: warn
import numpy as np


def compute_reward(cart_position, pole_angle, pole_velocity, action):
    upright = 0.5 * (1.0 + np.cos(pole_angle))
    rail = -0.2 * np.clip(np.abs(cart_position), 2.0, 4.0)
    damping = -0.02 * np.abs(pole_velocity) * upright
    effort = -0.01 * np.sum(np.square(action), axis=-1)
    return {"upright": upright, "rail": rail, "damping": damping, "effort": effort}
