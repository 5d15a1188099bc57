"""From the objects that a reward is given to what it was not given: classes, frames, globals, the garbage collector."""

from tests.security import effects
from tests.security.attack import Attack, reward


def _attack(seen, alone, body, **parts):
    return Attack("introspection", reward(body, **parts), seen, alone)


ATTACKS = {
    "subclasses of object lead to system": _attack(
        effects.made,
        True,
        """
found = [c for c in ().__class__.__base__.__subclasses__() if c.__name__ == "_wrap_close"][0]
if found.__init__.__globals__["system"]("echo > @OUT@/new"):
    found.__init__.__globals__["mkdir"]("@OUT@/new")
""",
    ),
    "globals of a helper lead to open": _attack(
        effects.leaked,
        True,
        'raise ValueError(helper.__globals__["__builtins__"]["open"]("@KEY@").read())',
        before="def helper(x):\n    return x",
    ),
    "frames by sys": _attack(
        effects.rival_changed,
        False,
        """
import sys
f = sys._getframe()
while "RIVAL" not in f.f_globals:
    f = f.f_back
f.f_globals["RIVAL"] = lambda x: {"rival": 0.0 * x}
""",
    ),
    "all objects of the garbage collector": _attack(
        effects.fitness_changed,
        False,
        """
import gc
for each in gc.get_objects():
    if type(each) is dict and "curve" in each and "fitness" in each:
        each["fitness"] = 999.0
""",
    ),
    "closure cell of another candidate": _attack(
        effects.rival_changed,
        False,
        """
import gc
for each in gc.get_objects():
    if type(each) is type(compute_reward) and each.__name__ == "rival" and each.__closure__:
        each.__closure__[0].cell_contents = -1.0
""",
    ),
    "field path of str.format": _attack(
        effects.leaked, True, 'raise ValueError("{0.serialization.os.environ}".format(torch))'
    ),
    "class pattern of match": _attack(
        effects.leaked,
        True,
        """
match (lambda: 0):
    case object(__globals__=g):
        raise ValueError(g["__builtins__"]["open"]("@KEY@").read())
""",
    ),
    "getattr with a name put together": _attack(
        effects.made, True, 'getattr(getattr(torch.serialization, "o" + "s"), "mk" + "dir")("@OUT@/new")'
    ),
    "dict of a module": _attack(
        effects.kept_changed, True, 'torch.__dict__["serialization"].__dict__["os"].remove("@OUT@/kept")'
    ),
    "self of a bound method": _attack(effects.state_changed, False, "cart_velocity.sum.__self__.data.zero_()"),
    "memory of an object by ctypes": _attack(
        effects.state_changed, False, "import ctypes\nctypes.memset(cart_velocity.data_ptr(), 0, 16)"
    ),
    "annotations that are evaluated": Attack(
        "introspection",
        "def compute_reward(pole_upright, cart_velocity, action) -> __import__('os').mkdir('@OUT@/new'):\n"
        "    return {'upright': pole_upright}\n",
        effects.made,
        True,
    ),
}
