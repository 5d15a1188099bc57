"""Find the source of a reward, or a JSON object, in a language model's reply."""

from __future__ import annotations

import ast
import json
import re
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

_ENTRY = re.compile(r"^[ \t]*(async[ \t]+)?def[ \t]+compute_reward\b", re.MULTILINE)
_CLASS = re.compile(r"^class[ \t]+\w+", re.MULTILINE)
_ANY_FUNCTION = re.compile(r"^[ \t]*def[ \t]+\w+[ \t]*\(", re.MULTILINE)
_FENCE = re.compile(r"[ \t>]*(`{3,}+|~{3,}+)([^`\n]*)$")  # possessive: linear time
# A line of code outside a fence: indented, a comment, a bracket, an import, a definition, a constant.
_CODE_LINE = re.compile(r"\s|#|[)\]}@]|(import|from|def|class|async|if|for|return)\b|[A-Za-z_]\w*\s*(:[^=]+)?=[^=]|$")
_MAX_REPLY = 1_000_000
_MOST_BRACES = 500
"""Braces of a text at which JSON may begin."""
_MOST_PARSED = 24_000
"""Longest text that is parsed [characters]; longer rewards are refused."""


def extract_source(reply: str) -> str:
    """Extract the source of the reward from a model's reply; empty if the reply holds no code.

    From several fenced blocks, take the last that defines `compute_reward` and parses; models write drafts before the
    final version.
    """
    text = _text(reply)
    blocks = fenced_blocks(reply)
    return _choose(blocks, _ENTRY) or _unfenced(text) or _choose(blocks, _ANY_FUNCTION)


def extract_class(reply: str) -> str:
    """Extract the source of a class from a reply, chosen in the same way; empty if there is none."""
    text = _text(reply)
    return _choose(fenced_blocks(reply), _CLASS) or (_clean(text) if _CLASS.search(text) and _parses(text) else "")


def fenced_blocks(reply: str) -> list[str]:
    """Return the contents of all fenced blocks of a reply, without common indentation."""
    return [_clean(block) for block in _fenced(_text(reply))]


def json_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object in a reply: its last fenced block that is one, else the longest in its text."""
    for block in reversed(fenced_blocks(text)):
        with suppress(ValueError, RecursionError):
            if isinstance(value := json.loads(block), dict):
                return value
    found: dict[str, Any] | None = None
    length = end = 0
    for brace in islice(re.finditer("{", text), _MOST_BRACES):
        if brace.start() < end:
            continue
        with suppress(ValueError, RecursionError):
            value, end = json.JSONDecoder().raw_decode(text, brace.start())
            if found and found.keys() & value.keys():
                return None  # two answers are none
            if end - brace.start() > length:
                found, length = value, end - brace.start()
    return found


def _text(reply: str) -> str:
    return reply[:_MAX_REPLY].replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")


def _fenced(text: str) -> Iterator[str]:
    """Yield the content of every fenced block; the last one may be left open."""
    marker, lines = "", []
    for line in text.split("\n"):
        fence = _FENCE.match(line)
        if not marker:
            if fence:
                marker, lines = fence[1], []
        elif fence and fence[1].startswith(marker) and not fence[2].strip():
            yield "\n".join(lines)
            marker = ""
        else:
            lines.append(line)
    if marker:
        yield "\n".join(lines)


def _choose(blocks: list[str], pattern: re.Pattern[str]) -> str:
    holding = [block for block in blocks if pattern.search(block)]
    sound = [block for block in holding if _parses(block)]
    return (sound or holding or [""])[-1]


def _unfenced(text: str) -> str:
    """Return the lines around `def compute_reward` that look like code."""
    if _ENTRY.search(text) is None:
        return ""
    if _parses(text):
        return _clean(text)
    lines = text.split("\n")
    entry = max(index for index, line in enumerate(lines) if _ENTRY.match(line))
    first = last = entry
    while first > 0 and _CODE_LINE.match(lines[first - 1]):
        first -= 1
    while last + 1 < len(lines) and _CODE_LINE.match(lines[last + 1]):
        last += 1
    return _clean("\n".join(lines[first : last + 1]))


def _clean(block: str) -> str:
    stripped = textwrap.dedent(block).strip("\n").rstrip()
    return stripped + "\n" if stripped else ""


def _parses(text: str) -> bool:
    if len(text) > _MOST_PARSED:
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(textwrap.dedent(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
