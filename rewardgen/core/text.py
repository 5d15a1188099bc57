"""Texts by somebody else, without terminal commands and invisible characters."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import count
from typing import Any

# Commands to a terminal, invisible characters, and characters that no file can hold.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but tab and newline, and C1
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"  # soft hyphen, joiner and fillers
    "\u061c\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"  # zero width, and the direction of reading
    "\ufe00-\ufe0f\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # variations, annotations, tags
    "\ud800-\udfff]"  # halves of characters
)
_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    # OSC and its like, up to their end: titles, links, the clipboard. A payload holds no control character, so that
    # a text of beginnings alone is read once.
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x00-\x1f\x7f-\x9f]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]"
)


def visible(text: str) -> str:
    """Return a text that is safe for a terminal, a file and a language model.

    Escape sequences are removed whole. Half a character becomes a replacement mark, a rare line separator a space.
    """
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _HIDDEN.sub(_replacement, _SEQUENCE.sub("", text))


def one_line(text: str, most: int = 300) -> str:
    """Return a text on one line, cut in the middle to `most` characters."""
    line = visible(text).replace("\\", "\\\\").replace("\n", "\\n").replace("\t", " ")
    half = most // 2
    return line if len(line) <= most else f"{line[:half]} [...] {line[-half:]}"


def _replacement(match: re.Match[str]) -> str:
    character = match.group()
    if "\ud800" <= character <= "\udfff":
        return "\ufffd"
    return " " if character in "\u2028\u2029" else ""


def distinct(names: Iterable[str]) -> list[str]:
    """Number names that occur again, from 2."""
    numbered: dict[str, None] = {}
    for name in names:
        choices = (name if number == 1 else f"{name}_{number}" for number in count(1))
        numbered[next(choice for choice in choices if choice not in numbered)] = None
    return list(numbered)


def plain(text: str) -> str:
    """Return a text on one line, so that it cannot end a docstring or a comment of Python."""
    return " ".join(visible(text).split()).replace("\\", "/").replace('"', "'")


def quoted(value: str | tuple[str, ...]) -> str:
    """Return the Python literal of a text or of several, in double quotes if possible."""
    if isinstance(value, tuple):
        return f"({', '.join(map(quoted, value))},)"
    text = repr(value)
    return f'"{text[1:-1]}"' if text[0] == "'" and '"' not in value and "\\'" not in text else text


def all_visible(data: Any) -> Any:
    """Return JSON data with every text made safe to show, keys included; see `visible`."""
    if isinstance(data, str):
        return visible(data)
    if isinstance(data, dict):
        return {all_visible(key): all_visible(value) for key, value in data.items()}
    return [all_visible(item) for item in data] if isinstance(data, list | tuple) else data
