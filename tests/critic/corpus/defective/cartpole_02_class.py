# task: cartpole
# style: helpers
# row: 2
# defect: the function is wrapped in a class
# severity: reject
import torch


class CartpoleReward:
    """Reward of the swing-up task."""

    centre_weight = 0.2
    effort_weight = 0.01

    def compute_reward(self, cart_position, pole_upright, pole_velocity, action):
        up = 0.5 * (1.0 + pole_upright)
        centre = -self.centre_weight * cart_position.square()
        calm = 0.3 * up * torch.exp(-pole_velocity.abs() / 3.0)
        effort = -self.effort_weight * action.square().sum(-1)
        return {"up": up, "centre": centre, "calm": calm, "effort": effort}
