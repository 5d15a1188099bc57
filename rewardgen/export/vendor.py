"""Parts of this package as a package of another name: the modules that some need, copied, with relative imports."""

from __future__ import annotations

import ast
import importlib.metadata
import re
from collections.abc import Iterable, Iterator
from itertools import accumulate
from pathlib import Path

from rewardgen import __version__
from rewardgen.core.errors import UsageError
from rewardgen.core.extras import DISTRIBUTION
from rewardgen.core.resources import PACKAGE

NAME = "_rewardgen"
"""What the copied package is called."""
_ROOTS = ("rewardgen.tasks.task_env", "rewardgen.tasks.loading", "rewardgen.training.sb3.settings")
_TASK_LAYERS = ("rewardgen.sim.", "rewardgen.tasks.", "rewardgen.training.ppo.settings", "rewardgen.reward.tolerance")
_IMPORT = re.compile(r"^([ \t]*)from rewardgen((?:\.\w+)*) import", re.MULTILINE)


def vendored() -> dict[str, str]:
    """The files of a package with all that task files import and an environment needs: path to text."""
    homes = {name: home for name, home in _public().items() if home.startswith(_TASK_LAYERS)}
    files = {}
    for module in sorted(_closure({*_ROOTS, *homes.values()})):
        path = _file(module)
        if path is None or module == "rewardgen":
            continue
        depth = module.count(".") + (path.name == "__init__.py")
        files[f"{NAME}/{path.relative_to(PACKAGE).as_posix()}"] = _IMPORT.sub(
            lambda found, depth=depth: f"{found[1]}from {'.' * depth}{found[2].removeprefix('.')} import",
            path.read_text(),
        )
    relative = {name: home.removeprefix("rewardgen") for name, home in sorted(homes.items())}
    files[f"{NAME}/__init__.py"] = _INIT.format(version=__version__, homes=_listed(relative))
    return files | ({f"{NAME}/LICENSE": licence} if (licence := _licence()) else {})


def task_source(text: str, name: str) -> str:
    """A task file that imports from the copied package beside it.

    Args:
        text: Its source.
        name: Of the file, for messages.

    Raises:
        UsageError: It imports from this package otherwise than `from rewardgen import ...`.
    """
    data = text.encode()
    starts = [0, *accumulate(len(line) + 1 for line in data.split(b"\n"))]
    for node in sorted(ast.walk(ast.parse(text)), key=lambda node: getattr(node, "lineno", 0), reverse=True):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "rewardgen" and not node.level:
            begin = starts[node.lineno - 1] + node.col_offset
            module = (node.module or "").removeprefix("rewardgen")
            rest = re.sub(rb"^from\s+[\w.]+\s+import", b"", data[begin:])
            data = data[:begin] + f"from .{NAME}{module} import".encode() + rest
        elif isinstance(node, ast.Import) and any(each.name.split(".")[0] == "rewardgen" for each in node.names):
            hint = f"write it as `from rewardgen import ...` in {name}"
            raise UsageError(f"line {node.lineno} of {name}, `{ast.unparse(node)}`, cannot be exported", hint)
    return data.decode()


def _closure(roots: Iterable[str]) -> set[str]:
    """Modules of this package that some import when they are loaded or run, and the packages that they are in."""
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        module = waiting.pop()
        path = _file(module)
        if module in found or path is None:
            continue
        found.add(module)
        waiting += [module.rpartition(".")[0]] if "." in module else []
        if module != "rewardgen":
            waiting += _imported(ast.parse(path.read_text()))
    return found


def _public() -> dict[str, str]:
    """Names that this package offers to their modules, as it tells type checkers."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    found = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module)
    return {each.name: str(node.module) for node in found for each in node.names}


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "rewardgen":
            yield from (node.module or "", *(f"{node.module}.{each.name}" for each in node.names))
        yield from _imported(node)


def _file(module: str) -> Path | None:
    place = PACKAGE.joinpath(*module.split(".")[1:])
    return next((each for each in (place.with_suffix(".py"), place / "__init__.py") if each.is_file()), None)


def _listed(homes: dict[str, str]) -> str:
    return "".join(f"    {name!r}: {home!r},\n" for name, home in homes.items())


def _licence() -> str:
    """The licence, from a checkout or from what is installed."""
    beside = PACKAGE.parent / "LICENSE"
    if beside.is_file():
        return beside.read_text()
    try:
        files = importlib.metadata.files(DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError:
        return ""
    return next((each.read_text() for each in files if each.name == "LICENSE"), "")


_INIT = '''"""The parts of rewardgen {version} that this environment needs, as they are there. Apache License 2.0."""

import importlib

_HOME = {{
{homes}}}


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module {{__name__!r}} has no attribute {{name!r}}")
    return getattr(importlib.import_module(_HOME[name], __name__), name)
'''
