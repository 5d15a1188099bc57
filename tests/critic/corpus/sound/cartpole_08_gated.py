# task: cartpole
# style: gated
import torch


def compute_reward(cart_position, cart_velocity, pole_upright, pole_velocity, action,
                   *, gate_sharpness: float = 8.0, gate_centre: float = 0.7, centre_temperature: float = 0.6,
                   spin_temperature: float = 6.0):
    """Swing first, balance later. A smooth gate opens the balancing terms near the top."""
    swing = (pole_upright + 1.0) / 2.0
    gate = torch.sigmoid(gate_sharpness * (pole_upright - gate_centre))
    centred = torch.exp(-cart_position.square() / centre_temperature)
    calm = torch.exp(-pole_velocity.square() / spin_temperature)
    balance = gate * (0.5 * centred + 0.5 * calm)
    effort = -0.02 * action.square().sum(dim=-1)
    slow_cart = -0.02 * gate * cart_velocity.square()
    return {"swing": swing, "balance": balance, "effort": effort, "slow_cart": slow_cart}
