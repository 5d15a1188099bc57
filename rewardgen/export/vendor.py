"""Copies of this package's modules as `_rewardgen`, with relative imports, for an exported environment."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from rewardgen import HOMES, __version__
from rewardgen.core.errors import UsageError
from rewardgen.core.resources import PACKAGE
from rewardgen.tasks.loading import shipped_tasks

_NAME = "_rewardgen"
_ROOTS = ("rewardgen.tasks.task_env", "rewardgen.tasks.loading")
_TASK_LAYERS = ("rewardgen.sim.", "rewardgen.tasks.", "rewardgen.reward.tolerance")
_TASK_LAYERS += ("rewardgen.store.comparisons", "rewardgen.training.ppo.settings", "rewardgen.training.sac.settings")
_IMPORT = re.compile(r"^([ \t]*)from rewardgen((?:\.\w+)*) import", re.MULTILINE)
_BASE = re.compile(r"""shipped_task\(["'](\w+)["']\)""")
_WHOLE = re.compile(r"^[ \t]*import rewardgen\b.*", re.MULTILINE)


def vendored(sources: Iterable[str]) -> dict[str, str]:
    """Files with all that these task files import and an environment needs: path to text."""
    homes = {name: home for name, home in HOMES.items() if home.startswith(_TASK_LAYERS)}
    files = {}
    named = {module for source in sources for module in _imported(ast.parse(source))}
    for module in sorted(_closure({*_ROOTS, *homes.values(), *named}) - {"rewardgen"}):
        path = _file(module)
        assert path is not None
        dots = "." * (module.count(".") + (path.name == "__init__.py"))
        files[f"{_NAME}/{path.relative_to(PACKAGE).as_posix()}"] = _relative(path.read_text(), dots)
    relative = {name: home.removeprefix("rewardgen") for name, home in sorted(homes.items())}
    files[f"{_NAME}/__init__.py"] = _INIT.format(version=__version__, homes=relative)
    licence = PACKAGE.parent / "LICENSE"
    return files | ({f"{_NAME}/LICENSE": licence.read_text()} if licence.is_file() else {})


def _relative(text: str, dots: str) -> str:
    return _IMPORT.sub(lambda match: f"{match[1]}from {dots}{match[2].removeprefix('.')} import", text)


def bases_of(text: str) -> dict[str, str]:
    """Files of the shipped tasks that a task file builds on: name to source."""
    files: dict[str, str] = {}
    for name in _BASE.findall(text):
        source = shipped_tasks()[name].read_text()
        files |= {name: source, **bases_of(source)}
    return files


def task_source(text: str, name: str) -> str:
    """The source of a task file, changed to import from the copied package beside it.

    Raises:
        UsageError: The file says `import rewardgen`.
    """
    if whole := _WHOLE.search(text):
        hint = f"write it as `from rewardgen import ...` in {name}"
        raise UsageError(f"`{whole[0].strip()}` in {name} cannot be exported", hint)
    return _relative(text, f".{_NAME}.").replace(f"from .{_NAME}. import", f"from .{_NAME} import")


def _closure(roots: Iterable[str]) -> set[str]:
    """Modules that others import when loaded or run, with the packages around them."""
    modules: set[str] = set()
    waiting = list(roots)
    while waiting:
        module = waiting.pop()
        path = _file(module)
        if module in modules or path is None:
            continue
        modules.add(module)
        waiting += [module.rpartition(".")[0]] if "." in module else []
        if module != "rewardgen":
            waiting += _imported(ast.parse(path.read_text()))
    return modules


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "rewardgen":
            yield from (node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names))
        yield from _imported(node)


def _file(module: str) -> Path | None:
    place = PACKAGE.joinpath(*module.split(".")[1:])
    return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)


_INIT = '''"""Unchanged parts of rewardgen {version} that this environment needs. Apache License 2.0."""

import importlib
from pathlib import Path

__version__ = "{version}"
_HOME = {homes}
__all__ = list(_HOME)


def shipped_task(name):
    """The class of a shipped task, whose file was copied too."""
    from .tasks.loading import task_in

    module = importlib.import_module(f"..{{name}}", __name__)
    return type(task_in(module, Path(module.__file__)))


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module {{__name__!r}} has no attribute {{name!r}}")
    return getattr(importlib.import_module(_HOME[name], __name__), name)
'''
