"""Numbers as people read them."""

from __future__ import annotations

import re
from collections.abc import Sequence


def number(value: float | None) -> str:
    """Three or four digits that matter; empty for None."""
    return "" if value is None else _rounded(value, like=value)


def with_spread(value: float | None, spread: float) -> str:
    """A mean with its standard error, to the same digit; the error is left out where there is none."""
    return f"{number(value)} ± {_rounded(spread, like=value)}" if value is not None and spread else number(value)


def _rounded(value: float, like: float) -> str:
    size = abs(like)
    if 0 < size < 0.01:
        return f"{value:.1g}"
    return f"{value:.{0 if size >= 100 else 1 if size >= 10 else 2}f}"


def duration(seconds: float) -> str:
    """Seconds in the two largest units that fit."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def roughly(seconds: float) -> str:
    """A guessed duration, without digits that nobody can know."""
    minutes = round(seconds / 60)
    if minutes < 1:
        return "less than a minute"
    return f"about {minutes} min" if minutes < 100 else f"about {minutes / 60:.1f} h"


def tokens(count: int) -> str:
    """A count of tokens."""
    if count < 1000:
        return str(count)
    return f"{count / 1000:.1f}k" if count < 1_000_000 else f"{count / 1_000_000:.2f}M"


def money(usd: float | None) -> str:
    """A price [USD]; says so if it is unknown."""
    if usd is None:
        return "price unknown"
    return f"${usd:.2f}" if usd >= 0.1 or usd == 0 else f"${usd:.2g}"


def first_line(text: str) -> str:
    """The first line of a text that is not blank."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def first_sentence(text: str) -> str:
    """The first sentence of a text's first line: models write their whole diagnosis in one."""
    return re.split(r"(?<=[.!?])\s+(?=[A-Z`])", first_line(text), maxsplit=1)[0]


def count(number_of: int, noun: str) -> str:
    """A number with its noun, such as `1 seed` or `2 seeds`."""
    return f"{number_of} {noun}" if number_of == 1 else f"{number_of} {noun}s"


def distinct(texts: Sequence[str], rooms: Sequence[int]) -> list[str]:
    """Texts of which each is told from the others by what is seen of it.

    Of one that has to be cut, words that it begins with like another one go first.

    Args:
        texts: One line each.
        rooms: Characters that are seen of each.
    """
    words = [text.split(" ") for text in texts]
    return [
        _told_apart(own, [other for other in words if other != own], room)
        for own, room in zip(words, rooms, strict=True)
    ]


def _told_apart(words: Sequence[str], others: Sequence[Sequence[str]], room: int) -> str:
    shared = max((_in_common(words, other) for other in others), default=0)
    text, dropped = " ".join(words), 0
    while len(text) > room and shared > 1 and dropped < min(shared, len(words) - 1):
        dropped += 1
        text = "… " + " ".join(words[dropped:])
    return text


def _in_common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words both begin with."""
    same = 0
    while same < min(len(one), len(other)) and one[same] == other[same]:
        same += 1
    return same
