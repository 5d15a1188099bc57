"""The help of all commands, and that every option that a hint, a message, a prompt or a page names exists."""

import ast
import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

import rewardgen
from benchmarks.__main__ import app
from rewardgen.cli.app import COMMANDS, main
from rewardgen.core.config import RunConfig

PACKAGE = Path(rewardgen.__file__).parent
ROOT = PACKAGE.parent
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*[a-z0-9]")

OF_OTHERS = {"--porcelain", "--head", "--address", "--num-cpus", "--no-deps"}
OF_OTHERS |= {"--output-format", "--tools", "--strict-mcp-config", "--no-session-persistence", "--effort"}
OF_OTHERS |= {"--skip-git-repo-check", "--ephemeral"}
"""Options of other programs that are called."""


def texts(path):
    """The strings of a module, docstrings and parts of f-strings among them."""
    return [node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)]


def named(*paths):
    """Options that files name, with the first file that does."""
    found = {}
    for path in paths:
        told = [path.read_text()] if path.suffix != ".py" else [each for each in texts(path) if isinstance(each, str)]
        for option in OPTION.findall("\n".join(told)):
            found.setdefault(option, path.relative_to(ROOT).as_posix())
    return found


def help_of(run, command):
    with redirect_stdout(StringIO()) as shown:
        assert not run([*command.split(), "--help"])
    return shown.getvalue()


@pytest.fixture(scope="module")
def pages():
    return {command: help_of(main, command) for command in ["", *(command.words for command in COMMANDS)]}


def test_every_command_has_help_with_an_example_and_json(pages):
    for command in pages.keys() - {""}:
        assert f"Example: rewardgen {command}" in pages[command]
        assert "--json" in pages[command] or command in ("play", "mcp")


def test_every_option_that_is_named_exists(pages):
    ours = set(OPTION.findall("".join(pages.values()))) | OF_OTHERS
    fields = {name.replace("_", "-"): field.annotation for name, field in RunConfig.model_fields.items()}
    ours |= {f"--{name}" for name in fields}  # accepted, not all of them shown
    ours |= {f"--no-{name}" for name, kind in fields.items() if kind in (bool, bool | None)}
    assert {"--call-timeout-s", "--max-cost", "--json"} <= ours
    benchmarks = "".join(help_of(app, name) for name in ("sim", "train", "learner", "ranking", "search"))
    measured = set(OPTION.findall(benchmarks))
    found = named(*PACKAGE.rglob("*.py"), *(ROOT / "prompts").rglob("*.j2"))
    assert {option: place for option, place in found.items() if option not in ours} == {}
    found = named(*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"))
    assert {option: place for option, place in found.items() if option not in ours | measured} == {}
