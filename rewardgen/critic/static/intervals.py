"""Arithmetic of intervals: bounds of results from bounds of operands."""

from __future__ import annotations

import math
from collections.abc import Callable

from rewardgen.critic.static.value import ANY, Interval, Span


def added(a: Interval, b: Interval) -> Interval:
    """Bounds of a sum."""
    return Interval(_sum(a.low, b.low, -math.inf), _sum(a.high, b.high, math.inf))


def negated(a: Interval) -> Interval:
    """Bounds of the negative."""
    return Interval(-a.high, -a.low)


def multiplied(a: Interval, b: Interval) -> Interval:
    """Bounds of a product of independent factors."""
    products = [_product(x, y) for x in a for y in b]
    return Interval(min(products), max(products))


def inverted(a: Interval) -> Interval:
    """Bounds of the reciprocal; unbounded if zero is among the values."""
    if a.low < 0.0 < a.high or a.low == a.high == 0.0:
        return ANY
    if a.high <= 0.0:
        return negated(inverted(negated(a)))
    return Interval(1.0 / a.high, 1.0 / a.low if a.low > 0.0 else math.inf)


def even(a: Interval) -> Interval:
    """Bounds of the absolute value."""
    low = 0.0 if a.low <= 0.0 <= a.high else min(abs(a.low), abs(a.high))
    return Interval(low, max(abs(a.low), abs(a.high)))


def mapped(a: Interval, function: Callable[[float], float]) -> Interval:
    """Bounds of a function that never falls; what overflows or is undefined is unbounded."""
    return Interval(_applied(function, a.low, -math.inf), _applied(function, a.high, math.inf))


def hull(a: Interval, b: Interval) -> Interval:
    """Bounds of either."""
    return Interval(min(a.low, b.low), max(a.high, b.high))


def raised(a: Interval, power: float) -> Interval:
    """Bounds of a power by a constant."""
    if power == 0.0:
        return Interval(1.0, 1.0)
    if power < 0.0:
        return inverted(raised(a, -power))
    if power % 2 == 0:
        return mapped(even(a), lambda x: x**power)
    if power % 2 == 1 or a.low >= 0.0:
        return mapped(a, lambda x: x**power)
    return Interval(0.0, math.inf)


def span_of(interval: Interval, middle: float) -> Span | None:
    """An estimated range from its ends and its middle; None if one is not finite."""
    if not all(math.isfinite(each) for each in (*interval, middle)):
        return None
    return Span(interval.low, min(max(middle, interval.low), interval.high), interval.high)


def _applied(function: Callable[[float], float], at: float, otherwise: float) -> float:
    try:
        value = function(at)
    except (ValueError, OverflowError, ZeroDivisionError):
        return otherwise
    # Not an integer, which `floor` gives: a product of integers may be larger than any float.
    return otherwise if isinstance(value, complex) or math.isnan(value) else float(value)


def _sum(a: float, b: float, otherwise: float) -> float:
    total = a + b
    return otherwise if math.isnan(total) else total


def _product(a: float, b: float) -> float:
    return 0.0 if 0.0 in (a, b) else a * b
