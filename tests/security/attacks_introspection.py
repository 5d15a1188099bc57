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
    "builtins by name": _attack(effects.folder_gone, True, '__builtins__["__import__"]("os").rmdir("@OUT@/empty")'),
    "frame of a generator": _attack(
        effects.fitness_changed,
        False,
        """
frame = []
g = (frame.append(g.gi_frame.f_back) for x in [1])
list(g)
f = frame[0]
while "RESULTS" not in f.f_globals:
    f = f.f_back
f.f_globals["RESULTS"]["fitness"] = 999.0
""",
    ),
    "frames of a traceback": _attack(
        effects.state_changed,
        False,
        """
try:
    1 / 0
except ZeroDivisionError as error:
    f = error.__traceback__.tb_frame
    while "kept" not in f.f_locals:
        f = f.f_back
    f.f_locals["kept"]["action"].zero_()
""",
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
    "stack by inspect": _attack(
        effects.rival_leaked,
        False,
        """
import inspect
notes = [s.frame.f_globals["RIVAL_NOTE"] for s in inspect.stack() if "RIVAL_NOTE" in s.frame.f_globals]
raise ValueError(notes[0])
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
    "referrers of an input": _attack(
        effects.state_changed,
        False,
        """
import gc
for each in gc.get_referrers(pole_upright):
    if type(each) is dict and "cart_velocity" in each:
        each["cart_velocity"].mul_(2.0)
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
    "code of another candidate": _attack(
        effects.rival_changed,
        False,
        """
import gc
def empty(weight):
    def rival(pole_upright):
        return {"rival": weight * pole_upright * 0.0}
    return rival
for each in gc.get_objects():
    if type(each) is type(empty) and each.__name__ == "rival" and each.__closure__:
        each.__code__ = empty(1.0).__code__
""",
    ),
    "field path of str.format": _attack(
        effects.leaked, True, 'raise ValueError("{0.serialization.os.environ}".format(torch))'
    ),
    "field path of format_map": _attack(
        effects.leaked, True, 'raise ValueError("{t.serialization.os.environ[API_KEY]}".format_map({"t": torch}))'
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
    "attrgetter": _attack(
        effects.made, True, 'import operator\noperator.attrgetter("serialization.os.mkdir")(torch)("@OUT@/new")'
    ),
    "dict of a module": _attack(
        effects.kept_changed, True, 'torch.__dict__["serialization"].__dict__["os"].remove("@OUT@/kept")'
    ),
    "self of a bound method": _attack(effects.state_changed, False, "cart_velocity.sum.__self__.data.zero_()"),
    "class made by type": _attack(
        effects.made,
        True,
        """
made = type("T", (), {"__del__": lambda self: __import__("os").mkdir("@OUT@/new")})
made()
""",
    ),
    "metaclass that runs": _attack(
        effects.made,
        True,
        """
class Meta(type):
    def __init__(cls, name, bases, space):
        __import__("os").mkdir("@OUT@/new")
class Made(metaclass=Meta):
    pass
""",
    ),
    "memory of an object by ctypes": _attack(
        effects.state_changed, False, "import ctypes\nctypes.memset(cart_velocity.data_ptr(), 0, 16)"
    ),
    "annotations that are evaluated": Attack(
        "introspection",
        "def compute_reward(pole_upright, cart_velocity, action) -> __import__('os').mkdir('@OUT@/new'):\n"
        "    return {'upright': pole_upright}\n",
        effects.made,
        True,
        gate="none",  # annotations are dropped, never evaluated
    ),
}
