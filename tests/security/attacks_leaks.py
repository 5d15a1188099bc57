"""Ways out for what is secret: names and values of components, messages, output, files that are kept."""

from tests.security import effects
from tests.security.attack import Attack, reward

_READ = 'secret = open("@KEY@").read()\n'
_RIVAL = """
import sys
f = sys._getframe()
while "RIVAL_NOTE" not in f.f_globals:
    f = f.f_back
secret = f.f_globals["RIVAL_NOTE"]
"""


def _file(body, **parts):
    return Attack("leaks", reward(_READ + body, **parts), effects.leaked, True)


def _rival(body, **parts):
    # What another candidate of the same process knows: layer 2 draws no line within a process.
    return Attack("leaks", reward(_RIVAL + body, **parts), effects.rival_leaked, False)


ATTACKS = {
    "name of a component": _file("pass", result="{secret: pole_upright}"),
    "message of an error": _file("raise ValueError(secret)"),
    "print": Attack("leaks", reward(_READ + "print(secret, flush=True)"), effects.leaked, True, control="worker"),
    "standard error": Attack(
        "leaks", reward(_READ + "import os\nos.write(2, secret.encode())"), effects.leaked, True, control="worker"
    ),
    "file that is kept": _file('open("@OWN@/kept.txt", "w").write(secret)'),
    "answer pipe": Attack(
        "leaks",
        reward(
            _READ
            + """
import json, os
for number in range(3, 64):
    try:
        os.write(number, json.dumps({"message": {"text": secret}}).encode() + b"\\n")
    except OSError:
        pass
raise ValueError(secret)
"""
        ),
        effects.leaked,
        True,
        control="worker",
    ),
    "another candidate in a name": _rival("pass", result="{secret: pole_upright}"),
    "another candidate in a message": _rival("raise ValueError(secret)"),
    "source of the trainer": Attack(
        "leaks",
        reward(
            """
import gc
for each in gc.get_objects():
    if type(each) is dict and "RIVAL_NOTE" in each:
        raise ValueError(each["RIVAL_NOTE"])
"""
        ),
        effects.rival_leaked,
        False,
    ),
}
