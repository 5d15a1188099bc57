# task: cartpole
# style: helpers
from torch import Tensor

TEMPERATURES = {"angle": 1.2, "position": 0.8, "velocity": 3.0}


def bump(value: Tensor, temperature: float) -> Tensor:
    """1 at zero, falling smoothly to 0."""
    return torch.exp(-(value / temperature) ** 2)


def wrap(angle: Tensor) -> Tensor:
    """Angle in (-pi, pi]."""
    return torch.atan2(torch.sin(angle), torch.cos(angle))


def compute_reward(cart_position: Tensor, pole_angle: Tensor, pole_velocity: Tensor, action: Tensor) -> dict:
    angle = wrap(pole_angle)
    up = bump(angle, TEMPERATURES["angle"])
    components = {
        "up": up,
        "up_and_central": 0.5 * up * bump(cart_position, TEMPERATURES["position"]),
        "up_and_still": 0.5 * up * bump(pole_velocity, TEMPERATURES["velocity"]),
        "tip_height": 0.3 * torch.cos(angle),
        "force": -0.01 * action[:, 0] ** 2,
    }
    return components
