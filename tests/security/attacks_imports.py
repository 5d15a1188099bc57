"""Roads to modules that are not in scope, and to code that the checks have not seen."""

from tests.security import effects
from tests.security.attack import Attack, reward

_MKDIR = '__import__("os").mkdir("@OUT@/new")'


def _attack(seen, body, **parts):
    return Attack("imports", reward(body, **parts), seen, True)


ATTACKS = {
    "import os": _attack(effects.made, 'import os\nos.mkdir("@OUT@/new")'),
    "dunder import": _attack(effects.made, _MKDIR),
    "importlib": _attack(
        effects.folder_gone, 'import importlib\nimportlib.import_module("shutil").rmtree("@OUT@/empty")'
    ),
    "sys through typing": _attack(effects.made, 'import typing\ntyping.sys.modules["os"].mkdir("@OUT@/new")'),
    "star import": Attack("imports", "from os import *\n" + reward('mkdir("@OUT@/new")'), effects.made, True),
    "eval": _attack(effects.made, f"eval({_MKDIR!r})"),
    "module that it writes itself": _attack(
        effects.made,
        """
import sys
with open("@OWN@/evil.py", "w") as file:
    file.write('import os; os.mkdir("@OUT@/new")')
sys.path.insert(0, "@OWN@")
import evil
""",
    ),
    "statement above the function": Attack("imports", f"{_MKDIR}\n" + reward("pass"), effects.made, True),
    "default value that is a call": _attack(effects.made, "pass", parameters=f", *, weight={_MKDIR}"),
    "decorator that is a call": Attack(
        "imports", reward("pass", top='@(lambda f: __import__("os").mkdir("@OUT@/new") or f)\n'), effects.made, True
    ),
    "fullwidth letters": _attack(effects.made, f"ｅｖａｌ({_MKDIR!r})"),
    "hidden in a reversed comment": Attack(
        "imports", reward(f"{_MKDIR} # \u202e innocent"), effects.made, True, gate="source"
    ),
}
