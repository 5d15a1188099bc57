# task: cartpole
# style: numpy
import numpy as np


def compute_reward(cart_position, cart_velocity, pole_angle, pole_velocity, action):
    """Numpy flavoured reward for swing-up and balance."""
    upright = np.exp(-np.square(pole_angle) / 2.0)
    centre = 0.25 * np.exp(-np.square(cart_position) / 0.5)
    damping = -0.02 * np.clip(np.abs(pole_velocity), 0.0, 10.0) * upright
    cart = -0.01 * np.clip(np.square(cart_velocity), 0.0, 9.0)
    effort = -0.01 * np.sum(np.square(action), axis=-1)
    return {"upright": upright, "centre": centre, "damping": damping, "cart": cart, "effort": effort}
