"""Numbers as people read them."""

from __future__ import annotations

import re


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
