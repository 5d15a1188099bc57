"""The table of detectors in the documentation is that of the code."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import get_args

import pytest

from rewardgen.critic.detectors import DETECTORS
from rewardgen.critic.llm_review import _Check
from rewardgen.critic.probe import probe  # noqa: F401  (registers the detectors)
from rewardgen.store.records import Gate

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "critic.md").read_text()
TABLE = PAGE.split("## All detectors")[1].split("\n## ")[0]
_ROW = re.compile(r"^\| `([a-z-]+)` \| ([a-z, ]+) \| (reject|warn|both) \| [^|]+ \| [^|]+ \|$", re.MULTILINE)
_NAME = re.compile(r"[a-z]+(-[a-z]+)+")
_MODULES = ("critic/**/*.py", "reward/*.py")
_SAYING = frozenset(["finding", "_finding", "_refuse", "refusal"])
_SEVERITIES = frozenset(["reject", "warn"])
_ENDED = frozenset(f"probe-{kind}" for kind in ("timeout", "memory", "crash"))
"""How a process of rewards may end."""


def documented() -> dict[str, tuple[frozenset[str], frozenset[str]]]:
    """Detector to its gates and the severities that it may have."""
    rows = _ROW.findall(TABLE)
    assert len(rows) == len({name for name, _, _ in rows}) == TABLE.count("\n| `")
    return {
        name: (frozenset(gates.split(", ")), _SEVERITIES if finding == "both" else frozenset([finding]))
        for name, gates, finding in rows
    }


def in_code() -> set[str]:
    """Texts in the gates that are names of detectors: all with a hyphen, and single words that findings are given."""
    found: set[str] = set()
    for path in (path for pattern in _MODULES for path in (ROOT / "rewardgen").glob(pattern)):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and _NAME.fullmatch(node.value):
                found.add(node.value)
            if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in _SAYING:
                given = [each.value for each in node.args[:2] if isinstance(each, ast.Constant)]
                found |= {each for each in given if isinstance(each, str) and re.fullmatch("[a-z]+", each)}
    return found - _SEVERITIES - set(get_args(Gate))


def test_every_detector_is_in_the_table_and_nothing_else():
    assert set(documented()) == in_code() | _ENDED


@pytest.mark.parametrize("row", [*DETECTORS], ids=lambda each: each.name)
def test_the_row_of_a_registered_detector_is_its_line_in_the_table(row):
    line = next(line for line in TABLE.splitlines() if line.startswith(f"| `{row.name}` |"))
    _, _, gates, severity, sees, fix, _ = (cell.strip() for cell in line.split("|"))
    assert "probe" in gates.split(", ")
    assert (severity, sees, fix) == (row.severity, row.sees, row.fix)


def test_every_item_of_the_readers_checklist_is_told():
    items = get_args(_Check.model_fields["item"].annotation)
    assert items
    assert {f"read-{item}" for item in items} == set(re.findall(r"`(read-[a-z]+)`", PAGE))
