"""What holds the design together: who imports whom, what stays light, how large a module may grow."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import rewardgen

PACKAGE = Path(rewardgen.__file__).parent

LAYERS = (
    ("rewardgen", "errors"),
    ("schema", "files", "resources"),
    ("config", "readings", "records", "messages"),
    ("task", "reward", "prompts", "llm", "budget", "events", "stats", "rundir", "provenance"),
    ("history",),
    ("journal", "finals", "report"),
    ("designer", "critic", "analyzer", "evolution"),
    ("simulation",),
    ("sandbox",),
    ("training",),
    ("search",),
    ("session",),
    ("bench",),
    ("ui", "export", "doctor"),
    ("cli", "__main__"),
)
"""From the bottom up: each part may import its own layer and those before it."""

HEAVY = ("torch", "mujoco", "litellm", "gymnasium", "stable_baselines3", "openai")


def _modules() -> dict[str, Path]:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        if "testing" not in parts and not {"envs", "prompts"}.intersection(parts):
            found[".".join(parts).removesuffix(".__init__")] = path
    return found


def _part(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else parts[0]


def _imports(path: Path) -> set[str]:
    """Modules of this package that a module imports for more than type checking."""
    found = set()
    for node in _run_time_nodes(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            submodules = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= submodules if node.module == "rewardgen" else {node.module}
    return {name for name in found if name.split(".")[0] == "rewardgen"}


def _run_time_nodes(tree: ast.AST):
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        yield node
        yield from _run_time_nodes(node)


def _layer(part: str) -> int:
    return next(number for number, parts in enumerate(LAYERS) if part in parts)


def test_every_part_has_a_place_in_the_import_order():
    placed = {part for parts in LAYERS for part in parts}
    assert {_part(module) for module in _modules()} <= placed


def test_modules_import_only_from_their_own_layer_and_below():
    wrong = [
        f"{module} imports {imported}"
        for module, path in _modules().items()
        for imported in _imports(path)
        if imported != "rewardgen.__version__" and _layer(_part(imported)) > _layer(_part(module))
    ]
    assert wrong == []


def test_no_module_is_much_longer_than_400_lines():
    lengths = {module: len(path.read_text().splitlines()) for module, path in _modules().items()}
    assert {module: lines for module, lines in lengths.items() if lines > 420} == {}


def test_package_init_files_hold_a_docstring_only():
    inits = [path for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE]
    assert [str(path) for path in inits if len(ast.parse(path.read_text()).body) > 1] == []


def _loaded_by(code: str) -> set[str]:
    ask = f"import sys\n{code}\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_the_orchestrator_loads_nothing_heavy():
    modules = ["rewardgen.search.session", "rewardgen.cli.machine", "rewardgen.sandbox.process"]
    modules += [f"rewardgen.cli.{path.stem}" for path in (PACKAGE / "cli").glob("[a-z]*.py")]
    assert _loaded_by("\n".join(f"import {module}" for module in modules)).isdisjoint(HEAVY)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["runs", "--help"], []])
def test_help_loads_no_part_of_the_package_but_the_command_table(arguments):
    loaded = _loaded_by(f"from rewardgen.cli.app import main\nmain({arguments!r})")
    assert loaded.isdisjoint({*HEAVY, "pydantic", "numpy", "jinja2"})
