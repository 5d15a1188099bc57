"""Draws the folders of the package in the order in which they may import each other: `python -m docs.layers`.

The order is the one that `tests/test_architecture.py` holds, the words are the packages' own docstrings.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from html import escape
from pathlib import Path

from tests.test_architecture import LAYERS, PACKAGE

PICTURE = Path(__file__).parent / "architecture.svg"
_WIDTH, _MARGIN, _GAP = 880, 44, 8
_LINE, _PADDING = 17, 11
_LETTER = 6.9
"""Width of a letter of the description, on the safe side."""
_NAME = 92
_INK, _FAINT, _FILL, _EDGE = "#1f2328", "#59636e", "#eef4fb", "#9db8d6"


def drawing() -> str:
    """The picture as SVG, the top layer first."""
    shapes, y = [], _GAP
    for layer in reversed(LAYERS):
        folders = [name for name in layer if (PACKAGE / name / "__init__.py").is_file()]
        if folders:
            height, drawn = _row(folders, y)
            shapes += drawn
            y += height + _GAP
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {y}" width="{_WIDTH}" height="{y}"'
    return "\n".join([f'{head} font-family="Helvetica, Arial, sans-serif">', *_frame(y), *shapes, "</svg>\n"])


def _frame(height: int) -> Iterator[str]:
    """The ground, and the arrow along which imports go."""
    middle, x = height // 2, _MARGIN // 2
    yield f'<rect width="{_WIDTH}" height="{height}" rx="8" fill="#ffffff"/>'
    yield f'<path d="M{x + 8} 20V{height - 26}m-5 -8l5 10l5 -10" fill="none" stroke="{_FAINT}" stroke-width="1.5"/>'
    turned = f'transform="rotate(-90 {x - 4} {middle})" text-anchor="middle"'
    yield f'<text x="{x - 4}" y="{middle}" {turned} font-size="13" fill="{_FAINT}">may import</text>'


def _row(folders: list[str], y: int) -> tuple[int, list[str]]:
    """Height and shapes of the folders of one layer, side by side."""
    width = (_WIDTH - _MARGIN - _GAP * len(folders)) // len(folders)
    alone = len(folders) == 1
    room = width - 2 * _PADDING - (_NAME if alone else 0)
    texts = [textwrap.wrap(_purpose(each), int(room / _LETTER)) for each in folders]
    lines = max(map(len, texts)) + (0 if alone else 1)
    height = lines * _LINE + 2 * _PADDING - 4
    shapes = []
    for number, (folder, text) in enumerate(zip(folders, texts, strict=True)):
        x = _MARGIN + number * (width + _GAP)
        box = f'x="{x}" y="{y}" width="{width}" height="{height}" rx="6"'
        shapes.append(f'<rect {box} fill="{_FILL}" stroke="{_EDGE}"/>')
        shapes.append(_text(f"{folder}/", x + _PADDING, y + _PADDING + 11, "bold", _INK))
        left, down = (_NAME, 0) if alone else (0, _LINE)
        for place, line in enumerate(text):
            shapes.append(_text(line, x + _PADDING + left, y + _PADDING + 11 + down + place * _LINE, "normal", _FAINT))
    return height, shapes


def _text(text: str, x: int, y: int, weight: str, colour: str) -> str:
    size = 14 if weight == "bold" else 13
    return f'<text x="{x}" y="{y}" font-size="{size}" font-weight="{weight}" fill="{colour}">{escape(text)}</text>'


def _purpose(folder: str) -> str:
    return ast.get_docstring(ast.parse((PACKAGE / folder / "__init__.py").read_text())) or ""


if __name__ == "__main__":
    PICTURE.write_text(drawing())
