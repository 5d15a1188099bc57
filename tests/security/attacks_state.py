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
    "array by asarray": _attack("x = np.asarray(cart_velocity)\nx[0] = 7.0", "none"),
    "exchange of storage": _attack("cart_velocity.set_(torch.zeros(4))"),
    "copy into": _attack("cart_velocity.copy_(pole_upright)"),
    "storage": _attack("cart_velocity.untyped_storage()[0] = 1"),
    "out argument": _attack("torch.exp(cart_velocity, out=cart_velocity)"),
    "inplace argument": _attack("F.hardtanh(cart_velocity, inplace=True)"),
    "inplace by position": _attack("F.threshold(cart_velocity, 1e9, 0.0, True)", "none"),
    "alias": _attack("x = cart_velocity\nx[1] = 7.0", "none"),
    "alias in a list": _attack("x = [cart_velocity]\nx[0].mul_(2.0)", "none"),
    "alias by a helper": _attack("x = same(cart_velocity)\nx.mul_(2.0)", "none", before="def same(x):\n    return x"),
    "result that is an input": Attack(
        "state mutation",
        reward("pass", result='{"upright": pole_upright}'),
        effects.aliased,
        False,
        "none",  # what comes out of a program shares no memory with its inputs
    ),
}
