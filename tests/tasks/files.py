"""Task files for tests: the point task, with passages replaced."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

POINT = Path(__file__).parent / "point.py"


def point(folder: Path, *changes: tuple[str, str], model: tuple[str, str] | None = None) -> str:
    """Reference of a copy of the point task; each change replaces a passage that is there."""
    text = replaced(POINT.read_text(), *changes)
    path = folder / "point.py"
    path.write_text(text)
    shutil.copy(POINT.with_suffix(".xml"), folder)
    if model is not None:
        xml = folder / "point.xml"
        xml.write_text(replaced(xml.read_text(), model))
    return str(path)


def replaced(text: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert old in text, f"{old!r} is not in the file"
        text = text.replace(old, new)
    return text


METRIC = '''\
    @staticmethod
    def metric(position, lived):
        """Share of the episode within 10 cm of the origin, half of it for the way there.

        Within 10 cm of the origin at the end.
        """
        near = (lived * (position.abs() < 0.1)).mean(1)
        closed = 1.0 - (position[:, -1].abs() / 1.9).clamp(0.0, 1.0)
        at_end = (position[:, -1].abs() < 0.1) & (lived[:, -1] > 0.5)
        return {"near": near, "closed": closed, "fitness": 0.5 * (near + closed), "success": at_end}
'''
"""Of the point task, in place of its `fitness` and `success`."""


def measured_point(folder: Path, *changes: tuple[str, str]) -> str:
    """Reference of a copy of the point task that has a `metric`; each change replaces a passage that is there."""
    return point(folder, (_methods(), METRIC + "\n"), *changes)


def unmeasured_point(folder: Path, more: str = "") -> str:
    """Reference of a copy of the point task without a fitness, with more lines in its class."""
    return point(folder, (_methods(), f"    fitness = None\n{more}\n"))


def _methods() -> str:
    """The `fitness` and `success` of the point task."""
    text = POINT.read_text()
    return text[text.index("    def fitness(") : text.index("    @staticmethod\n    def human_reward(")]


def one_in_three(cases):
    """Cases of a test, each a text of its own that comes in the same way; most run with the slow tests."""
    rows = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [pytest.param(*row, marks=pytest.mark.slow if at % 3 else ()) for at, row in enumerate(rows)]
