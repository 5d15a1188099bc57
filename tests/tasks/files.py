"""Task files for tests: the point task, with passages replaced."""

from __future__ import annotations

import shutil
from pathlib import Path

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
