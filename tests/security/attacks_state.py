"""Writing into the tensors that a reward is given: the simulation, or the transitions that others are priced with."""

from tests.security import effects
from tests.security.attack import Attack, reward


def _attack(body, gate="source", **parts):
    # A process cannot be kept from writing into its own memory: only the language and copies do.
    return Attack("state mutation", reward(body, **parts), effects.state_changed, False, gate)


ATTACKS = {
    "method in place": _attack("cart_velocity.zero_()"),
    "operator in place": Attack(
        "state mutation",
        reward("cart_velocity += 1.0"),
        effects.state_changed,
        False,
        "none",  # in the language, `x += y` makes a new value
    ),
    "element": _attack("cart_velocity[0] = 100.0"),
    "slice": _attack("action[:, 0] = 0.0"),
    "mask": _attack("cart_velocity[cart_velocity > 0.0] = 0.0"),
    "data": _attack("cart_velocity.data.fill_(7.0)"),
    "array that shares memory": _attack("cart_velocity.numpy()[:] = 7.0"),
    "array by asarray": _attack("x = np.asarray(cart_velocity)\nx[0] = 7.0"),
    "exchange of storage": _attack("cart_velocity.set_(torch.zeros(4))"),
    "copy into": _attack("cart_velocity.copy_(pole_upright)"),
    "resize": _attack("cart_velocity.resize_(2)"),
    "storage": _attack("cart_velocity.untyped_storage()[0] = 1"),
    "out argument": _attack("torch.exp(cart_velocity, out=cart_velocity)"),
    "inplace argument": _attack("F.hardtanh(cart_velocity, inplace=True)"),
    "inplace by position": _attack("F.threshold(cart_velocity, 1e9, 0.0, True)"),
    "running statistics": _attack("F.batch_norm(action, action[:1, 0] * 1, cart_velocity[:1], training=True)"),
    "DLPack": _attack("torch.from_dlpack(torch.utils.dlpack.to_dlpack(cart_velocity)).fill_(7.0)"),
    "another stride": _attack("torch.as_strided(cart_velocity, (2,), (2,)).fill_(7.0)"),
    "alias": _attack("x = cart_velocity\nx[1] = 7.0"),
    "view": _attack("x = cart_velocity.view(2, 2)\nx[0, 0] = 7.0"),
    "alias by unary plus": _attack("x = +cart_velocity\nx.mul_(2.0)"),
    "alias by a cast": _attack("x = cart_velocity.to(torch.float32)\nx.mul_(2.0)"),
    "alias in a list": _attack("x = [cart_velocity]\nx[0].mul_(2.0)"),
    "alias in a dict": _attack('x = {"v": cart_velocity}\nx["v"].mul_(2.0)'),
    "alias by a loop": _attack("for x in [cart_velocity]:\n    x.mul_(2.0)"),
    "alias by a helper": _attack("x = same(cart_velocity)\nx.mul_(2.0)", before="def same(x):\n    return x"),
    "alias by broadcasting": _attack("torch.broadcast_tensors(cart_velocity, pole_upright)[0].mul_(2.0)"),
    "hook": _attack("cart_velocity.requires_grad_(True)\nx = cart_velocity.data\nx.mul_(2.0)"),
    "einsum that is a view": _attack('x = torch.einsum("i->i", cart_velocity)\nx.mul_(2.0)'),
    "result that is an input": Attack(
        "state mutation",
        reward("pass", result='{"upright": pole_upright}'),
        effects.aliased,
        False,
        "none",  # what comes out of a program shares no memory with its inputs
    ),
}
