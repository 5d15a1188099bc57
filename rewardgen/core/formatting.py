"""Numbers in running text, and its length: prompts, analyses, a run's README. Tables have `rewardgen.core.readable`."""

from __future__ import annotations

from collections.abc import Mapping

from rewardgen.core.statistics import Interval


def number(value: float) -> str:
    """Three significant digits, without an exponent where that is readable."""
    text = f"{value:.3g}"
    if "e" in text and 1e-4 <= abs(value) < 1e6:
        text = f"{value:.0f}" if abs(value) >= 1 else f"{value:.6f}".rstrip("0")
    return "0" if text in ("-0", "0.0") else text


def thousands(count: int) -> str:
    """A count, in thousands from there on: `640`, `75k`."""
    return f"{count / 1000:.0f}k" if count >= 1000 else str(count)


def shortened(text: str, most: int) -> str:
    """A text cut to its first characters, which says so where it is.

    Args:
        text: The text.
        most: Characters that are kept.
    """
    return text if len(text) <= most else f"{text[:most].rstrip()} [cut]"


def percent(share: float | None) -> str:
    """A share between 0 and 1 as a whole percentage, never rounded to none or all; empty for None."""
    if share is None:
        return ""
    if 0.0 < share < 0.005:
        return "<1 %"
    return ">99 %" if 0.995 < share < 1.0 else f"{100 * share:.0f} %"


def percent_interval(share: Interval | None) -> str:
    """A share with its interval, such as `88 % [71, 96]`; empty for None."""
    return f"{percent(share.value)} [{100 * share.low:.0f}, {100 * share.high:.0f}]" if share else ""


def named(values: Mapping[str, float]) -> str:
    """Named numbers in their order: `turned 0.82, landed 0.1`."""
    return ", ".join(f"{name} {number(value)}" for name, value in values.items())


def shares(parts: Mapping[str, float]) -> str:
    """Named shares, largest first: `torso too low 80 %, time limit 20 %`."""
    ordered = sorted(parts.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {percent(share)}" for name, share in ordered if share > 0) or "nothing"
