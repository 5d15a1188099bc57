"""Writing into the tensors that a reward is given: the simulation, or the transitions that others are priced with."""

from tests.security import effects
from tests.security.attack import Attack, reward


def _attack(body, gate="source", **parts):
    # A process cannot be kept from writing into its own memory: the language and copies of the inputs do that.
    return Attack("state mutation", reward(body, **parts), effects.state_changed, False, gate)


ATTACKS = {
    "method in place": _attack("cart_velocity.zero_()"),
    "operator in place": _attack("cart_velocity += 1.0", "none"),
    "element": _attack("cart_velocity[0] = 100.0"),
    "data": _attack("cart_velocity.data.fill_(7.0)"),
    "exchange of storage": _attack("cart_velocity.set_(torch.zeros(4))"),
    "storage": _attack("cart_velocity.untyped_storage()[0] = 1"),
    "out argument": _attack("torch.exp(cart_velocity, out=cart_velocity)"),
    "inplace argument": _attack("F.hardtanh(cart_velocity, inplace=True)"),
    "alias": _attack("x = cart_velocity\nx[1] = 7.0", "none"),
    "result that is an input": Attack(
        "state mutation",
        reward("pass", result='{"upright": pole_upright}'),
        effects.aliased,
        False,
        "none",  # what comes out of a program shares no memory with its inputs
    ),
}
