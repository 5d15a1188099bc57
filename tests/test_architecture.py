"""What holds the design together: who imports whom, what stays light, how large a module may grow."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import rewardgen

PACKAGE = Path(rewardgen.__file__).parent

LAYERS = (
    ("core",),
    ("store",),
    ("reward",),
    ("llm",),
    ("sandbox",),
    ("sim",),
    ("tasks",),
    ("designer", "critic", "analyzer"),
    ("training",),
    ("film",),
    ("search",),
    ("view",),
    ("report", "export", "ui"),
    ("serve",),
    ("api",),
    ("cli",),
    ("rewardgen", "__main__"),
    ("extras",),
)
"""From the bottom up: a folder may import itself and the layers before its own, not its neighbours in a layer."""

PUBLIC_FAKES = "testing"
"""For whoever writes tests: no part of the package may import it, it may import them all."""

HEAVY = ("torch", "mujoco", "litellm", "gymnasium", "stable_baselines3", "openai", "ray")
NOT_IN_CORE = ("torch", "mujoco", "litellm")

LONGEST = 600
"""Lines of a module at most."""

_REGISTRATION = re.compile(r"(rewardgen(?:\.\w+)+):\w+")


def _modules() -> dict[str, Path]:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        if not {"envs", "prompts"}.intersection(parts):
            found[".".join(parts).removesuffix(".__init__")] = path
    return found


def _part(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else parts[0]


@cache
def _read(path: Path) -> tuple[set[str], set[str]]:
    """Modules that a module names for more than type checking, in an import or as `module:function`; its strings."""
    found = set()
    tree = ast.parse(path.read_text())
    for node in _run_time_nodes(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            submodules = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= submodules if node.module == "rewardgen" else {node.module}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            registration = _REGISTRATION.fullmatch(node.value)
            found |= {registration[1]} if registration else set()
    nodes = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return found, {text for text in nodes if isinstance(text, str)}


def _run_time_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        yield node
        yield from _run_time_nodes(node)


def _layer(part: str) -> int:
    return next(number for number, parts in enumerate(LAYERS) if part in parts)


def _may_import(part: str, other: str) -> bool:
    if PUBLIC_FAKES in (part, other):
        return part == PUBLIC_FAKES
    return part == other or _layer(other) < _layer(part)


def _wrong_imports(modules: dict[str, Path]) -> set[str]:
    return {
        f"{module} -> {name}"
        for module, path in modules.items()
        for name in _read(path)[0]
        if name.split(".")[0] == "rewardgen"
        and name not in ("rewardgen.__version__", "rewardgen.HOMES")
        and not _may_import(_part(module), _part(name))
    }


def test_every_folder_has_a_place_in_the_import_order():
    placed = {part for parts in LAYERS for part in parts} | {PUBLIC_FAKES}
    assert {_part(module) for module in _modules()} <= placed


def test_modules_import_only_from_their_own_folder_and_the_layers_below():
    assert sorted(_wrong_imports(_modules())) == []


@pytest.mark.parametrize(
    "line",
    [
        "from rewardgen.search import search",
        "import rewardgen.search.search",
        "def late():\n    from rewardgen.search.search import run_search",
        'JOB = Job("rewardgen.search.search:run_search", reads=("path",))',
        'JOBS = {"search": "rewardgen.search.search:run_search"}',
        "from rewardgen.critic.critic import Critic",
        "from rewardgen.testing.scripted import ScriptedClient",
    ],
)
def test_an_import_upwards_or_sideways_is_seen_in_every_form(tmp_path, line):
    path = tmp_path / "wrong.py"
    path.write_text(line)
    assert len(_wrong_imports({"rewardgen.analyzer.wrong": path})) == 1


def test_an_import_for_type_checking_alone_is_allowed(tmp_path):
    path = tmp_path / "typed.py"
    path.write_text("if TYPE_CHECKING:\n    from rewardgen.search.search import run_search\n")
    assert _wrong_imports({"rewardgen.analyzer.typed": path}) == set()


def test_nothing_outside_an_extra_names_it():
    extras = {path.name for path in (PACKAGE / "extras").iterdir() if path.is_dir()} - {"__pycache__"}
    names = {name.replace("_", "-") for name in extras} | extras
    named = set()
    for module, path in _modules().items():
        if _part(module) not in ("extras", "export"):  # `mjlab` is also a format of `export`
            named |= {(module, text) for text in _read(path)[1] if text in names or "rewardgen.extras." in text}
    named -= {("rewardgen.cli.app", "mcp"), ("rewardgen.cli.agents", "mcp")}  # the command and the protocol
    assert extras and named == set()


def test_core_and_store_name_no_heavy_library():
    below = {module: path for module, path in _modules().items() if _part(module) in ("core", "store")}
    named = {(module, name.split(".")[0]) for module, path in below.items() for name in _read(path)[0]}
    assert {(module, library) for module, library in named if library in NOT_IN_CORE} == set()


def test_no_module_is_longer_than_600_lines():
    lengths = {module: len(path.read_text().splitlines()) for module, path in _modules().items()}
    assert {module: lines for module, lines in lengths.items() if lines > LONGEST} == {}


def test_package_init_files_hold_a_docstring_only():
    inits = [path for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE]
    assert [str(path) for path in inits if len(ast.parse(path.read_text()).body) > 1] == []


def _loaded_by(code: str) -> set[str]:
    ask = f"import sys\n{code}\nprint(*sys.modules, *{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_core_store_and_the_orchestrator_load_nothing_heavy():
    modules = [module for module in _modules() if _part(module) in ("core", "store")]
    modules += ["rewardgen.search.lifecycle", "rewardgen.sandbox.process"]
    modules += [f"rewardgen.cli.{path.stem}" for path in (PACKAGE / "cli").glob("[a-z]*.py")]
    assert _loaded_by("\n".join(f"import {module}" for module in modules)).isdisjoint(HEAVY)


def test_help_loads_no_part_of_the_package_but_the_command_table():
    calls = "".join(f"\nmain({arguments!r})" for arguments in (["--help"], ["--version"], ["runs", "--help"], []))
    loaded = _loaded_by(f"from rewardgen.cli.app import main{calls}")
    assert loaded.isdisjoint({*HEAVY, "pydantic", "numpy", "jinja2", "rewardgen.extras"})


def test_one_function_starts_every_other_python():
    starters = {path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py") if "sys.executable" in path.read_text()}
    assert starters == {Path("core/interpreter.py")}
