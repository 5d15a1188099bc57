"""Roads to modules that are not in scope, and to code that the checks have not seen."""

from tests.security import effects
from tests.security.attack import Attack, reward

_MKDIR = '__import__("os").mkdir("@OUT@/new")'


def _attack(seen, body, **parts):
    return Attack("imports", reward(body, **parts), seen, True)


ATTACKS = {
    "import os": _attack(effects.made, 'import os\nos.mkdir("@OUT@/new")'),
    "import of a name": _attack(effects.made, 'from os import mkdir as exp\nexp("@OUT@/new")'),
    "import above the function": _attack(effects.made, 'p.Path("@OUT@/new").touch()', before="import pathlib as p"),
    "dunder import": _attack(effects.made, _MKDIR),
    "importlib": _attack(
        effects.folder_gone, 'import importlib\nimportlib.import_module("shutil").rmtree("@OUT@/empty")'
    ),
    "modules that torch has imported": _attack(
        effects.made, 'torch.serialization.os.rename("@OUT@/kept", "@OUT@/new")'
    ),
    "modules that numpy has imported": _attack(
        effects.made, 'np.ctypeslib.ctypes.CDLL(None).mkdir(b"@OUT@/new", 0o777)'
    ),
    "modules that functional has imported": _attack(effects.made, 'F.torch.os.mkdir("@OUT@/new")'),
    "loaded modules": _attack(effects.made, 'import sys\nsys.modules["posix"].mkdir("@OUT@/new")'),
    "sys through typing": _attack(effects.made, 'import typing\ntyping.sys.modules["os"].mkdir("@OUT@/new")'),
    "loader of a module": _attack(
        effects.made, '__builtins__["__spec__"].loader.load_module("posix").mkdir("@OUT@/new")'
    ),
    "star import": Attack(
        "imports",
        "from os import *\n" + reward('mkdir("@OUT@/new")'),
        effects.made,
        True,
    ),
    "eval": _attack(effects.made, f"eval({_MKDIR!r})"),
    "exec of text": _attack(effects.made, f"exec(compile({_MKDIR!r}, 'x', 'exec'))"),
    "code put together byte by byte": _attack(
        effects.made,
        """
import types, marshal
made = compile('__import__("os").mkdir("@OUT@/new")', "x", "exec")
types.FunctionType(marshal.loads(marshal.dumps(made)), {})()
""",
    ),
    "pickle": _attack(effects.made, 'import pickle\npickle.loads(b"cposix\\nmkdir\\n(V@OUT@/new\\ntR.")'),
    "pickle by torch": _attack(
        effects.made,
        """
import io, pickle, os
class Made:
    def __reduce__(self):
        return os.mkdir, ("@OUT@/new",)
file = io.BytesIO()
torch.save(Made(), file)
file.seek(0)
torch.load(file, weights_only=False)
""",
    ),
    "pickle by numpy": _attack(
        effects.made,
        """
import io, os
class Made:
    def __reduce__(self):
        return os.mkdir, ("@OUT@/new",)
file = io.BytesIO()
np.save(file, np.array([Made()], dtype=object), allow_pickle=True)
file.seek(0)
np.load(file, allow_pickle=True)
""",
    ),
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
    "archive that it writes itself": _attack(
        effects.made,
        """
import sys, zipfile
with zipfile.ZipFile("@OWN@/evil.zip", "w") as archive:
    archive.writestr("packed.py", 'import os; os.mkdir("@OUT@/new")')
sys.path.insert(0, "@OWN@/evil.zip")
import packed
""",
    ),
    "script by runpy": _attack(
        effects.made,
        """
import runpy
open("@OWN@/script.py", "w").write('import os; os.mkdir("@OUT@/new")')
runpy.run_path("@OWN@/script.py")
""",
    ),
    "path file of site": _attack(
        effects.made,
        """
import site
open("@OWN@/x.pth", "w").write('import os; os.mkdir("@OUT@/new")')
site.addsitedir("@OWN@")
""",
    ),
    "name resolved by pkgutil": _attack(effects.made, 'import pkgutil\npkgutil.resolve_name("os:mkdir")("@OUT@/new")'),
    "name located by pydoc": _attack(effects.made, 'import pydoc\npydoc.locate("os.mkdir")("@OUT@/new")'),
    "interpreter of the code module": _attack(
        effects.made, f"import code\ncode.InteractiveInterpreter().runsource({_MKDIR!r})"
    ),
    "text that timeit runs": _attack(effects.made, f"import timeit\ntimeit.timeit({_MKDIR!r}, number=1)"),
    "statement above the function": Attack("imports", f"{_MKDIR}\n" + reward("pass"), effects.made, True),
    "default value that is a call": _attack(effects.made, "pass", parameters=f", *, weight={_MKDIR}"),
    "decorator that is a call": Attack(
        "imports",
        reward("pass", top='@(lambda f: __import__("os").mkdir("@OUT@/new") or f)\n'),
        effects.made,
        True,
    ),
    "fullwidth letters": _attack(effects.made, f"ｅｖａｌ({_MKDIR!r})"),
    "hidden in a reversed comment": Attack(
        "imports", reward(f"{_MKDIR} # \u202e innocent"), effects.made, True, gate="source"
    ),
    "library by torch": _attack(
        effects.made,
        "import ctypes\nctypes.PyDLL(None).PyRun_SimpleString(b\"__import__('os').mkdir('@OUT@/new')\")",
    ),
}
