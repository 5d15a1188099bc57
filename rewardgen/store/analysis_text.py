"""What training showed of a candidate as compact text: for prompts, the terminal and `analysis.md` alike.

Its lines fit a terminal of 80 columns. Numbers stand in rows of a common scale, so that they are read at a glance and
cost few tokens.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rewardgen.core.formatting import named, number, percent, shares
from rewardgen.core.statistics import later_mean
from rewardgen.store.measurements import ComponentPoint, TrainingCurves
from rewardgen.store.records import Analysis, CandidateRecord, PredictionOutcome

LINE = 78
"""Longest line of a table: what is left of 80 columns by the margin that the pages have."""
MOST_COLUMNS = 8
NAME = 18
"""Least width of the names of rows."""
LONGEST = 27
"""Of a row's name with its unit; a longer name is cut before its unit."""
LONGEST_BESIDE_EPISODES = 19
SMALL = 0.1
"""Share of the reward below which a component has no row of its spread, and none in the episodes."""
MOMENTS = 2
"""Times at which each of three episodes is shown, about midway and at its end: they all begin alike."""
MOMENTS_ALONE = 6

_RELATION = re.compile(r" [<>]=? ")


class _Form(NamedTuple):
    """How the numbers of a row are set.

    Attributes:
        digits: Digits of the row's largest number.
        least: A row whose largest number is below it is told in a smaller unit.
        width: Columns of each, the gap before it included.
    """

    digits: int = 3
    least: float = 0.01
    width: int = 7


_PLAIN = _Form()
_COMPONENT = _Form(digits=2, least=1.0)
"""Whole thousandths are read as well as decimals, and take half the room in a prompt."""
_READING = _Form(digits=2, least=0.1)


def analysis_text(record: CandidateRecord, episodes: bool = True) -> str:
    """Fitness beside the parent's, learning curve, components, endings, and single episodes.

    Args:
        record: A candidate; of one without an analysis only the fitness, or why it has none.
        episodes: Whether to show single episodes, which are half of the text.
    """
    analysis = record.analysis
    sections = [_fitness_lines(record)]
    if analysis and analysis.curves.curve:
        sections += [_curve_lines(analysis.curves), _end_lines(analysis)]
        if causes := analysis.curves.terminations:
            sections.append([f"episodes of the last evaluation end by: {shares(causes)}"])
        sections += [_episode_lines(analysis)] if episodes and analysis.episodes else []
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def outcomes_text(claims: Sequence[PredictionOutcome]) -> str:
    """What became of the claims of a prediction: `fitness 0.82 (failed), share[speed] 0.4 (held)`."""
    measured = [
        each.claim if each.measured is None else f"{_RELATION.split(each.claim)[0]} {number(each.measured)}"
        for each in claims
    ]
    return ", ".join(f"{text} ({each.outcome})" for text, each in zip(measured, claims, strict=True))


def parts_lines(parts: Mapping[str, float]) -> list[str]:
    """The parts of a fitness, `parts of the fitness: turned 0.82, landed 0.1`; nothing if it has none."""
    if not parts:
        return []
    together = named(parts).replace(" ", "\xa0").replace(",\xa0", ", ")  # a name and its number stay on one line
    return [each.replace("\xa0", " ") for each in textwrap.wrap(f"parts of the fitness: {together}", LINE)]


def _fitness_lines(record: CandidateRecord) -> list[str]:
    result, analysis = record.result, record.analysis
    if result is None:
        return [f"not trained: {record.outcome}"]
    if result.fitness is None:
        return [f"failed: {record.outcome or 'no fitness could be measured'}"]
    values = ", ".join(number(each.final_fitness) for each in result.slices if each.final_fitness is not None)
    success = "" if result.success_rate is None else f"; success {percent(result.success_rate)}"
    lines = [f"fitness {number(result.fitness)} ± {number(result.fitness_spread)} (by seed: {values}){success}"]
    lines += parts_lines(result.parts)
    if analysis and analysis.parent and analysis.fitness_delta is not None:
        parent, delta = analysis.parent, analysis.fitness_delta
        noise = "one seed only, so it may be noise"
        if parent.noise is not None:
            noise = "beyond noise" if abs(delta) > parent.noise else "within noise"
        lines.append(f"parent {parent.candidate_id} has {number(parent.fitness)}: {_signed(delta)}, {noise}")
    return lines


def _curve_lines(curves: TrainingCurves) -> list[str]:
    """Curve and components over training: every component with its mean per step and, below, its spread."""
    titles = [_titled(name, _means_and_spreads(points)[0]) for name, points in curves.components.items()]
    width = _name_width(titles)
    columns = max(2, min(MOST_COLUMNS, (LINE - width) // _PLAIN.width))
    points = _thinned(curves.curve, columns)
    steps = [f"{each.env_steps / 1000:.0f}k" if each.env_steps >= 1000 else str(each.env_steps) for each in points]
    succeeded = [f"{100 * each.success_rate:.0f}" for each in points]
    lines = [
        _row(f"steps, {curves.seeds} seeds" if curves.seeds > 1 else "steps", width, steps),
        _numbers("fitness", width, [each.fitness for each in points]),
        *([_row("success rate %", width, succeeded)] if any(each.success_rate for each in points) else []),
        _numbers("steps per episode", width, [each.episode_steps for each in points]),
        _numbers("reward per episode", width, [each.episode_return for each in points]),
    ]
    for name, series in curves.components.items():
        unit, cells = _means_and_spreads(_thinned(series, columns))
        lines.append(_row(_titled(name, unit), width, cells[::2]))
        lines += [] if _is_small(series) else [_row("  ± over steps", width, cells[1::2])]
    return lines


def _means_and_spreads(points: Sequence[ComponentPoint]) -> tuple[str, list[str]]:
    return _scaled([value for point in points for value in (point.mean, point.std)], _COMPONENT)


def _is_small(points: Sequence[ComponentPoint]) -> bool:
    return max(points[0].share, points[-1].share) < SMALL


def _end_lines(analysis: Analysis) -> list[str]:
    """Every component at the end of training: its share, how it is used, and what changed against the parent."""
    components, parent = analysis.curves.components, analysis.parent
    if not components:
        return []
    width = _name_width([_titled(name) for name in components])
    lines = [_row("at the end", width, ["share %", "active %", "at best %", "r", *(["change"] if parent else [])], 10)]
    for name, points in components.items():
        last, r = points[-1], later_mean([point.fitness_correlation for point in points])
        cells = [
            f"{100 * points[0].share:.0f} to {100 * last.share:.0f}",
            f"{100 * last.activation:.0f}",
            f"{100 * last.saturation:.0f}",
            "-" if r is None else f"{r:+.2f}",
        ]
        if parent:
            before = parent.component_means.get(name)
            change = 0.0 if before is None else last.mean - before
            cells.append("new" if before is None else "~0" if abs(change) < 1e-3 else _signed(change))
        lines.append(_row(_titled(name), width, cells, 10))
    lines.append("(share: first to last; active: steps where not ~0; at best: near the largest;")
    return [*lines, f" r: with fitness{'; change: of the mean, against the parent' if parent else ''})"]


def _episode_lines(analysis: Analysis) -> list[str]:
    """Best, median and worst episode side by side, or one that is typical of all."""
    small = {name for name, points in analysis.curves.components.items() if _is_small(points)}
    alone = len(analysis.episodes) == 1
    moments = MOMENTS_ALONE if alone else MOMENTS
    lines, episodes = [], []
    for each in analysis.episodes:
        title = "a typical episode (best and worst are alike)" if alone else f"{each.rank} episode"
        success = "success" if each.success else "no success"
        lines.append(f"{title}: fitness {number(each.fitness)}, {success}, {each.steps} steps, ended by {each.ending}")
        components = {f"[{name}]": values for name, values in each.components.items() if name not in small}
        series = {"time [s]": each.times_s, **each.variables, **components}
        episodes.append({name: _at_moments(values, moments) for name, values in series.items()})
    names = [name for name in episodes[0] if any(any(each.get(name, ())) for each in episodes)]
    rows = {name: _scaled([value for each in episodes for value in each[name]], _READING) for name in names}
    titles = {name: _titled(name, unit, LONGEST_BESIDE_EPISODES) for name, (unit, _) in rows.items()}
    width = _name_width(list(titles.values()))
    for name, (_, cells) in rows.items():
        columns = [cell.rjust(_READING.width) for cell in cells]
        each = ["".join(columns[start : start + moments]) for start in range(0, len(columns), moments)]
        lines.append(titles[name].ljust(width) + " |".join(each))
    return [*lines, "([components] per step; vectors, small components, rows of zeros left out)"]


def _at_moments(values: Sequence[float], moments: int) -> list[float]:
    """From the first to the last of them; of two, one from the middle and the last. Short episodes repeat a moment."""
    first = 0 if moments > MOMENTS else (len(values) - 1) // 2
    return [values[first + round(index * (len(values) - 1 - first) / (moments - 1))] for index in range(moments)]


def _numbers(title: str, width: int, values: Sequence[float]) -> str:
    unit, cells = _scaled(values, _PLAIN)
    return _row(title + unit, width, cells)


def _row(title: str, width: int, cells: Sequence[str], cell: int = _PLAIN.width) -> str:
    """A line: its title, and cells set to the right."""
    return title.ljust(width) + "".join(each.rjust(cell) for each in cells).rstrip()


def _name_width(names: Sequence[str]) -> int:
    return max(NAME, *(len(name) + 1 for name in names), 0)


def _titled(name: str, unit: str = "", most: int = LONGEST) -> str:
    """A row's name with its unit, cut to a length."""
    return name[: most - len(unit)] + unit


def _scaled(values: Sequence[float], form: _Form) -> tuple[str, list[str]]:
    """A row's unit and its cells, with as many decimals as its largest value needs for its digits.

    Numbers that would be too small or too wide are told in a unit such as ` [1e-3]`; the unit is empty for the others.
    """
    scale = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    unit = ""
    if scale != 0.0 and not form.least <= scale < 10.0 ** (form.digits + 2):
        exponent = 3 * math.floor(math.log10(scale) / 3)
        unit, scale = f" [1e{exponent}]", scale / 10.0**exponent
        values = [value / 10.0**exponent for value in values]
    decimals = min(form.digits, max(0, form.digits - 1 - math.floor(math.log10(scale)))) if scale else 0
    cells = [f"{value:.{decimals}f}" if math.isfinite(value) else number(value) for value in values]
    return unit, [cell if float(cell) else "0" for cell in cells]


def _thinned(points: Sequence[Any], most: int) -> list[Any]:
    """At most so many of the points, evenly spread, the first and the last among them."""
    count = min(len(points), most)
    return [points[round(index * (len(points) - 1) / max(count - 1, 1))] for index in range(count)]


def _signed(value: float) -> str:
    return f"{'+' if value >= 0 else ''}{number(value)}"
