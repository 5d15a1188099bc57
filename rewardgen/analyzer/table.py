"""What training showed of a candidate as compact text, for a prompt or a terminal 80 columns wide."""

from __future__ import annotations

from collections.abc import Sequence

from rewardgen.analyzer.episodes import episode_lines
from rewardgen.analyzer.layout import Number, columns_beside, name_width, row, scaled, thinned, titled
from rewardgen.analyzer.training_curves import TrainingCurves, correlation, course_of
from rewardgen.core.statistics import noise
from rewardgen.llm.prompts import number, percent, shares
from rewardgen.store.measurements import ComponentPoint
from rewardgen.store.records import CandidateRecord, CandidateResult, TaskCard

SMALL = 0.1
"""Share of the reward below which a component has no row of its spread, and none in the episodes."""

_COMPONENT = Number(digits=2, least=1.0)
"""Whole thousandths are read as well as decimals, and take half the room in a prompt."""


def table_text(record: CandidateRecord, parent: CandidateRecord | None, course: TrainingCurves, card: TaskCard) -> str:
    """Fitness against the parent, learning curve, components, endings, and single episodes.

    Args:
        record: The candidate with its result.
        parent: The best parent that has a fitness, if any.
        course: The candidate's training.
        card: The task.
    """
    result = record.result
    if result is None:
        return f"not trained: {record.outcome}\n"
    parts = [_verdict_lines(record, result, parent)]
    if course.curve:
        of_parent = course_of(parent.result) if parent and parent.result else None
        left_out = {each.name for each in card.variables if each.shape} | {"action"}
        left_out |= {name for name, points in course.components.items() if _is_small(points)}
        parts += [_course_lines(course), _end_lines(course, of_parent), _ending_lines(course)]
        parts += [episode_lines(result, left_out)]
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"


def verdict_on(delta: float, record: CandidateRecord, parent: CandidateRecord) -> str:
    """Whether a difference of fitness exceeds two standard errors of both candidates over their seeds."""
    results = [each.result for each in (record, parent) if each.result]
    if any(len(result.slices) < 2 for result in results):
        return "one seed only, so it may be noise"
    beyond = abs(delta) > noise(*(result.fitness_spread for result in results))
    return "beyond noise" if beyond else "within noise"


def _verdict_lines(record: CandidateRecord, result: CandidateResult, parent: CandidateRecord | None) -> list[str]:
    if result.fitness is None or result.failure:
        return [f"failed: {record.outcome or 'no fitness could be measured'}"]
    values = ", ".join(number(each.final_fitness) for each in result.slices if each.final_fitness is not None)
    success = "" if result.success_rate is None else f"; success {percent(result.success_rate)}"
    lines = [f"fitness {number(result.fitness)} ± {number(result.fitness_spread)} (by seed: {values}){success}"]
    if parent is not None and parent.fitness is not None:
        delta = result.fitness - parent.fitness
        lines.append(
            f"parent {parent.candidate.id} has {number(parent.fitness)}: "
            f"{'+' if delta >= 0 else ''}{number(delta)}, {verdict_on(delta, record, parent)}"
        )
    return lines


def _course_lines(course: TrainingCurves) -> list[str]:
    """Curve and components over training: every component with its mean per step and, below, its spread."""
    width = name_width([titled(name, _unit(points)) for name, points in course.components.items()])
    columns = columns_beside(width)
    points = thinned(course.curve, columns)
    seeds = len(course.curves)
    succeeded = [f"{100 * point.success_rate:.0f}" for point in points]
    lines = [
        row(f"steps, {seeds} seeds" if seeds > 1 else "steps", width, [_thousands(p.env_steps) for p in points]),
        _numbers("fitness", width, [point.fitness for point in points]),
        *([row("success rate %", width, succeeded)] if any(point.success_rate for point in points) else []),
        _numbers("steps per episode", width, [point.episode_steps for point in points]),
        _numbers("reward per episode", width, [point.episode_return for point in points]),
    ]
    for name, series in course.components.items():
        lines += _component_rows(name, width, thinned(series, columns))
    return lines


def _unit(points: Sequence[ComponentPoint]) -> str:
    return scaled(_readings(points), _COMPONENT)[0]


def _readings(points: Sequence[ComponentPoint]) -> list[float]:
    return [value for point in points for value in (point.mean, point.std)]


def _is_small(points: Sequence[ComponentPoint]) -> bool:
    return max(points[0].share, points[-1].share) < SMALL


def _component_rows(name: str, width: int, points: Sequence[ComponentPoint]) -> list[str]:
    """Mean per step and standard deviation over the steps, in the same unit."""
    unit, cells = scaled(_readings(points), _COMPONENT)
    mean, spread = row(titled(name, unit), width, cells[::2]), row("  ± over steps", width, cells[1::2])
    return [mean] if _is_small(points) else [mean, spread]


def _numbers(title: str, width: int, values: Sequence[float]) -> str:
    unit, cells = scaled(values)
    return row(f"{title}{unit}", width, cells)


def _end_lines(course: TrainingCurves, of_parent: TrainingCurves | None) -> list[str]:
    """Every component at the end of training: its share, how it is used, and what changed against the parent."""
    if not course.components:
        return []
    width = name_width([titled(name) for name in course.components])
    heads = ["share %", "active %", "at best %", "r", *(["change"] if of_parent else [])]
    legend = ["(share: first to last; active: steps where not ~0; at best: near the largest;"]
    legend += [f" r: with fitness{'; change: of the mean, against the parent' if of_parent else ''})"]
    rows = [_end_row(name, width, points, of_parent) for name, points in course.components.items()]
    return [row("at the end", width, heads, 10), *rows, *legend]


def _end_row(name: str, width: int, points: Sequence[ComponentPoint], of_parent: TrainingCurves | None) -> str:
    first, last = points[0], points[-1]
    r = correlation([point.fitness_correlation for point in points])
    cells = [
        f"{100 * first.share:.0f} to {100 * last.share:.0f}",
        f"{100 * last.activation:.0f}",
        f"{100 * last.saturation:.0f}",
        "-" if r is None else f"{r:+.2f}",
    ]
    if of_parent:
        before = of_parent.components.get(name)
        cells.append(_signed(last.mean - before[-1].mean) if before else "new")
    return row(titled(name), width, cells, 10)


def _signed(value: float) -> str:
    return "~0" if abs(value) < 1e-3 else f"{'+' if value >= 0 else ''}{number(value)}"


def _ending_lines(course: TrainingCurves) -> list[str]:
    return [f"episodes of the last evaluation end by: {shares(course.endings)}"] if course.endings else []


def _thousands(steps: int) -> str:
    return f"{steps / 1000:.0f}k" if steps >= 1000 else str(steps)
