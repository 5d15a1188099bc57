"""Formats of numbers, intervals, counts and short texts; decides all digits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the command line loads this module without pydantic
    from rewardgen.core.statistics import Interval


def number(value: float | None) -> str:
    """Format three significant digits, without an exponent where that is readable; empty for None."""
    if value is None:
        return ""
    text = f"{value:.3g}"
    if "e" in text and 1e-4 <= abs(value) < 1e6:
        text = f"{value:.0f}" if abs(value) >= 1 else f"{value:.6f}".rstrip("0")
    return "0" if text in ("-0", "0.0") else text


def with_spread(value: float | None, spread: float) -> str:
    """Format a mean and its standard error to the same digit, such as `0.912 ± 0.031`."""
    if value is None or not spread:
        return number(value)
    digits = max(len(number(value).partition(".")[2]), 2 if abs(value) < 10 else 0)
    return f"{number(value)} ± {spread:.{digits}f}"


def with_interval(estimate: Interval | None) -> str:
    """Format an estimate with its interval, such as `0.84 [0.8, 0.85]`; empty for None."""
    return f"{number(estimate.value)} [{bounds(estimate)}]" if estimate else ""


def bounds(estimate: Interval) -> str:
    """Format the ends of an interval, such as `0.8, 0.85`."""
    return f"{number(estimate.low)}, {number(estimate.high)}"


def percent(share: float | None) -> str:
    """Format a share as a whole percentage, never rounded to 0 or 100 %; empty for None."""
    if share is None:
        return ""
    if 0.0 < share < 0.005:
        return "<1 %"
    return ">99 %" if 0.995 < share < 1.0 else f"{100 * share:.0f} %"


def percent_interval(share: Interval | None) -> str:
    """Format a share with its interval, such as `88 % [71, 96]`; empty for None."""
    return f"{percent(share.value)} [{100 * share.low:.0f}, {100 * share.high:.0f}]" if share else ""


def named(values: Mapping[str, float]) -> str:
    """Format named numbers in order: `turned 0.82, landed 0.1`."""
    return ", ".join(f"{name} {number(value)}" for name, value in values.items())


def shares(parts: Mapping[str, float]) -> str:
    """Format named shares, largest first: `torso too low 80 %, time limit 20 %`."""
    ordered = sorted(parts.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {percent(share)}" for name, share in ordered if share > 0) or "nothing"


def count(number_of: int, noun: str) -> str:
    """Format a number with its noun, such as `1 seed` or `2 seeds`."""
    return f"{number_of} {noun}" if number_of == 1 else f"{number_of} {noun}s"


def thousands(count: int) -> str:
    """Format a count, in thousands from 1,000 on: `640`, `75k`."""
    return f"{count / 1000:.0f}k" if count >= 1000 else str(count)


def tokens(count: int) -> str:
    """Format a count of tokens: `950`, `13.9k`, `2.00M`."""
    if count < 1000:
        return str(count)
    return f"{count / 1000:.1f}k" if count < 1_000_000 else f"{count / 1_000_000:.2f}M"


def money(usd: float | None) -> str:
    """Format a cost [USD]; `price unknown` for None."""
    if usd is None:
        return "price unknown"
    return f"${usd:.2f}" if usd >= 0.1 or usd == 0 else f"${usd:.2g}"


def duration(seconds: float) -> str:
    """Format seconds in the two largest units."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def roughly(seconds: float) -> str:
    """Format an estimated duration without false digits."""
    minutes, hours = round(seconds / 60), seconds / 3600
    if minutes < 1:
        return "less than a minute"
    if minutes < 100:
        return f"about {minutes} min"
    return f"about {hours:.1f} h" if hours < 48 else f"about {hours / 24:.1f} days"


def shortened(text: str, most: int) -> str:
    """Cut a text to its first `most` characters, marked with `[cut]`."""
    return text if len(text) <= most else f"{text[:most].rstrip()} [cut]"


def first_sentence(text: str) -> str:
    """Return the first sentence of a text's first line: models may write a whole diagnosis in one line."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return re.split(r"(?<=[.!?])\s+(?=[A-Z`])", line, maxsplit=1)[0]
