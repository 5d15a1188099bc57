"""Result and analysis of a candidate as compact text, for prompts and the terminal.

Lines fit 80 columns. The numbers of a row have one scale: quick to read, and few tokens.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from rewardgen.core.formatting import named, number, percent, thousands
from rewardgen.reward.stages import stage_names
from rewardgen.store.measurements import STARTS, ComponentPoint, StageReading
from rewardgen.store.records import (
    Analysis,
    CandidateRecord,
    CandidateResult,
    ParentComparison,
    PredictionOutcome,
    ShownEpisode,
    SliceResult,
)

LINE = 78
"""Longest line: 80 columns without the margin of the pages."""
MOST_COLUMNS = 5
_ENDS = 24
"""Width of the columns share, active and change."""
NAME = 18
"""Least width of the column of names."""
LONGEST = 27
"""Longest row name with its unit; a longer name is cut before its unit."""
SMALL = 0.1
"""Share of the reward below which a component has no row in an episode."""
MOMENTS, MOMENTS_OF_THE_SECOND = 6, 4
"""Moments of the first and of the second episode; the second shows its end."""
TINY = 0.01
"""Share of the reward below which a component has no row in the curve."""
NOTABLE = 0.1
"""Lead of the best evaluation over the last, as a share of the range, from which the text mentions it."""

_RELATION = re.compile(r" [<>]=? ")


_CELL = 7
"""Columns of a number with the gap before it."""
_COMPONENT = 2, 1.0
"""Digits and least number of a component's row: whole thousandths read as easily as decimals, for half the tokens."""


def analysis_text(record: CandidateRecord, episodes: int = 2) -> str:
    """Write fitness, learning curve, components and episodes of a candidate; without an analysis the fitness alone.

    Two `episodes`, the most that are shown, take half of the text.
    """
    analysis = record.analysis
    sections = [_fitness_lines(record)]
    if analysis and analysis.curves.curve:
        sections += [_curve_lines(analysis, judged=bool(record.preference))]
        timed = [episode for episode in analysis.episodes if episode.times_s]
        moments = (MOMENTS, MOMENTS_OF_THE_SECOND)
        rated = record.result is None or record.result.success_rate is not None
        sections += [
            _episode_lines(analysis, *pair, rated, bool(record.preference))
            for pair in zip(timed[:episodes], moments, strict=False)
        ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def outcomes_text(claims: Sequence[PredictionOutcome]) -> str:
    """List the outcomes of claims: `fitness 0.82 (failed), share[speed] 0.4 (held)`."""
    texts = []
    for claim in claims:
        value = "" if claim.measured is None else f"{_RELATION.split(claim.claim)[0]} {number(claim.measured)}"
        texts.append(f"{value or claim.claim} ({claim.outcome}{', for it hardly counts' if claim.dead else ''})")
    return ", ".join(texts)


def parts_lines(parts: Mapping[str, float]) -> list[str]:
    """List the parts of a fitness: `parts of the fitness: turned 0.82, landed 0.1`; empty without parts."""
    if not parts:
        return []
    together = named(parts).replace(" ", "\xa0").replace(",\xa0", ", ")  # a name and its number stay on one line
    return [line.replace("\xa0", " ") for line in textwrap.wrap(f"parts of the fitness: {together}", LINE)]


def stage_means(source: str, result: CandidateResult) -> dict[str, StageReading]:
    """Return the stages of a reward in the last evaluation, means over the seeds, by name; empty without stages."""
    measured = [run.stages for run in result.slices if run.stages]
    names = stage_names(source) if measured else ()
    readings = {name: [stages[index] for stages in measured if index < len(stages)] for index, name in enumerate(names)}
    return {name: _mean_reading(of_seeds) for name, of_seeds in readings.items() if of_seeds}


def _mean_reading(readings: Sequence[StageReading]) -> StageReading:
    times = [reading.first_s for reading in readings if reading.first_s is not None]
    shares = {part: fmean(getattr(reading, part) for reading in readings) for part in ("entered", "time", "last")}
    return StageReading(**shares, first_s=fmean(times) if times else None)


def _stage_lines(source: str, result: CandidateResult) -> list[str]:
    means = stage_means(source, result)
    lines = ["stages in the last evaluation, mean over seeds:"] if means else []
    for index, (name, mean) in enumerate(means.items()):
        first = f", first after {number(mean.first_s)} s" if index and mean.first_s is not None else ""
        text = f"{name}: in {percent(mean.entered)} of the episodes{first}, {percent(mean.time)} of the time"
        lines += _wrapped(f"{text}; {percent(mean.last)} end in it")
    return lines


def _fitness_lines(record: CandidateRecord) -> list[str]:
    result, analysis = record.result, record.analysis
    if result is None:
        return [f"not trained: {record.outcome}"]
    if result.fitness is None:
        return [f"failed: {record.outcome or 'no fitness could be measured'}"]
    if record.preference:
        lines = [line for text in record.preference.splitlines() for line in _wrapped(text)]
        lines += _ending_lines(result)
        return lines + _stage_lines(record.candidate.source, result)
    values = ", ".join(number(run.final_fitness) for run in result.slices if run.final_fitness is not None)
    success = "" if result.success_rate is None else f"; success {percent(result.success_rate)}"
    lines = [f"fitness {number(result.fitness)} (by seed: {values}){success}"]
    lines += _outcome_lines(result, analysis)
    for run in result.slices if len(result.slices) > 1 else ():
        lines += _wrapped(f"seed {run.seed}: {named(run.final_parts)}") if run.final_parts else []
    lines += parts_lines(result.parts)
    lines += _stage_lines(record.candidate.source, result)
    lines += [line for run in result.slices for line in _best_seen(run)]
    if analysis and analysis.parent and analysis.fitness_delta is not None:
        parent, delta = analysis.parent, analysis.fitness_delta
        judged = "which may be noise: there are too few seeds to tell"
        if parent.noise is not None:
            side = "beyond" if abs(delta) > parent.noise else "within"
            judged = f"{side} the noise of {number(parent.noise)}"
        lines += _wrapped(f"parent {parent.candidate_id} has {number(parent.fitness)}: {_signed(delta)}, {judged}")
    return lines


def _ending_lines(result: CandidateResult) -> list[str]:
    outcomes = [outcome for run in result.slices for outcome in run.outcomes]
    ends = Counter(outcome.ending for outcome in outcomes).most_common()
    lines = _wrapped(f"{len(outcomes)} episodes end by: {', '.join(f'{end} {number_of}' for end, number_of in ends)}")
    signals = {name: fmean(one.signals[name] for one in outcomes) for name in outcomes[0].signals}
    return [*lines, *_wrapped(f"signals, mean of these episodes: {named(signals)}")] if signals else lines


def _outcome_lines(result: CandidateResult, analysis: Analysis | None) -> list[str]:
    outcomes = [outcome for run in result.slices for outcome in run.outcomes]
    if not outcomes:
        return []
    measured = [run for run in result.slices if run.outcomes]
    seeds = "1 seed" if len(measured) == 1 else f"{len(measured)} seeds"
    counts = {-(-len(run.outcomes) // STARTS) for run in measured}
    checkpoints = "last checkpoint" if counts == {1} else "last two checkpoints"
    of = f"{seeds} x {checkpoints} x {min(STARTS, len(measured[0].outcomes))} starts"
    ordered = sorted(outcome.fitness for outcome in outcomes)
    marks = [ordered[round(share * (len(ordered) - 1))] for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    lines = _wrapped(f"mean of {len(outcomes)} episodes without action noise: {of}, the same for all candidates")
    spread = f"worst, quartiles, best: {' / '.join(map(number, marks))}"
    failed = [outcome for outcome in outcomes if not outcome.success]
    if failed and len(failed) < len(outcomes):
        good = [outcome.fitness for outcome in outcomes if outcome.success]
        spread += f"; mean of the {len(good)} successes {number(sum(good) / len(good))}"
    lines += _wrapped(spread)
    if failed:
        ends = ", ".join(f"{end} {count}" for end, count in Counter(outcome.ending for outcome in failed).most_common())
        lines += _wrapped(f"{len(failed)} fail, and end by: {ends}")
    if analysis and analysis.hard_starts:
        hard = len(analysis.hard_starts)
        lines += _wrapped(f"of the starts that fail, {hard} are hard for most other candidates too")
    return lines


def _best_seen(run: SliceResult) -> list[str]:
    """Mention the best evaluation of a training run if it was clearly better than the last."""
    if not run.curve:
        return []
    best, last = max(run.curve, key=lambda point: point.fitness), run.curve[-1]
    lowest = min(point.fitness for point in run.curve)
    if best.fitness - last.fitness <= max(NOTABLE * (best.fitness - lowest), best.fitness_spread + last.fitness_spread):
        return []
    rates = [f" with {percent(point.success_rate)} success" if best.success_rate else "" for point in (best, last)]
    seen = f"{number(best.fitness)}{rates[0]} at {thousands(best.env_steps)} steps"
    return _wrapped(f"seed {run.seed} had {seen} in training, and {number(last.fitness)}{rates[1]} at the end")


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, LINE, subsequent_indent="  ", break_on_hyphens=False)


def _curve_lines(analysis: Analysis, judged: bool) -> list[str]:
    curves, parent = analysis.curves, analysis.parent
    tiny = [name for name, points in curves.components.items() if max(point.share for point in points) < TINY]
    components = {name: points for name, points in curves.components.items() if name not in tiny}
    units = {name: _scaled([point.mean for point in points], *_COMPONENT)[0] for name, points in components.items()}
    width = _name_width([_titled(name, unit) for name, unit in units.items()])
    columns = max(2, min(MOST_COLUMNS, (LINE - width - _ENDS) // _CELL))
    points = _thinned(curves.curve, columns)
    succeeded = [f"{100 * point.success_rate:.0f}" for point in points]
    lengths = [point.episode_steps for point in points]
    seeds = f"means over {curves.seeds} seeds" if curves.seeds > 1 else "one seed"
    head = _row("steps", width, [thousands(point.env_steps) for point in points])
    lines = [
        *_wrapped(f"during training (no action noise, few episodes, the same starts at every point; {seeds}):"),
        head + (f"{'share %':>9}{'active':>7}{'change' if parent else '':>8}".rstrip() if components else ""),
        *([] if judged else [_numbers("fitness", width, [point.fitness for point in points])]),
        *(
            [_row("success rate %", width, succeeded)]
            if not judged and any(point.success_rate for point in points)
            else []
        ),
        *([_numbers("steps per episode", width, lengths)] if max(lengths) - min(lengths) > 0.5 else []),
        _numbers("reward per episode", width, [point.episode_return for point in points]),
    ]
    for name, series in components.items():
        unit, cells = _scaled([point.mean for point in _thinned(series, columns)], *_COMPONENT)
        ends = f"{_share(series):>9}{100 * series[-1].activation:>7.0f}"
        change = f"{_change(parent, name, series[-1].mean, unit):>8}" if parent else ""
        row = _row(_titled(name, unit), width, cells).ljust(width + _CELL * len(points))
        lines.append((row + ends + change).rstrip())
    if any(point.bonus for point in curves.curve):
        paid = ", ".join(f"{100 * point.bonus:.0f}" for point in points)
        lines += _wrapped(f"exploration bonus: {paid} % of the rewards trained on, up to these steps")
    if tiny:
        lines += _wrapped(f"under 1 % of the reward throughout: {', '.join(tiny)}")
    if components:
        key = "components: mean per step; share of all sizes, first→last; active: % of the last steps where not ~0"
        lines += _wrapped(f"({key}{'; change against the parent' if parent else ''})")
    for agent, paid in curves.credits.items():
        lines += _wrapped(f"reward per episode of {agent}: {number(sum(paid.values()))} ({named(paid)})")
    return lines


def _share(points: Sequence[ComponentPoint]) -> str:
    return f"{100 * points[0].share:.0f}→{100 * points[-1].share:.0f}"


def _change(parent: ParentComparison, name: str, mean: float, unit: str) -> str:
    before = parent.component_means.get(name)
    if before is None:
        return "new"
    change = (mean - before) / float(unit.strip(" []") or 1.0)
    return "~0" if abs(change) < 0.05 else f"{change:+.2g}" if abs(change) < 100 else f"{change:+.0f}"


def _episode_lines(analysis: Analysis, episode: ShownEpisode, moments: int, rated: bool, judged: bool) -> list[str]:
    """Write an episode, without fitness where others judge, and without success also where the task is not `rated`."""
    paid = analysis.curves.components.items()
    small = {name for name, points in paid if max(points[0].share, points[-1].share) < SMALL}
    rank = {"best": "best", "median": "typical", "worst": "worst"}[episode.rank]
    when = "" if moments < MOMENTS else "; when most changes:"
    success = (" success," if episode.success else " no success,") if rated and not judged else ""
    fitness = "" if judged else f" fitness {number(episode.fitness)},"
    alone = "; others go the same way" if len(analysis.episodes) == 1 else ""
    point = "the point before" if episode.earlier else "the last point"
    whose = "" if episode.seed is None else f", seed {episode.seed}"
    lines = _wrapped(
        f"{'an' if judged else rank} episode of {point}{whose}:{fitness}{success} {episode.steps} steps,"
        f" ended by {episode.ending}{alone}{when}"
    )
    lines += _wrapped(f"parts: {named(episode.parts)}") if episode.parts and not judged else []
    components = {f"[{name}]": values for name, values in episode.components.items() if name not in small}
    series = {**episode.variables, **components}
    moving = [name for name, values in series.items() if name not in episode.stays and _moves(name, values, series)]
    rows = {name: [_reading(value) for value in series[name][-moments:]] for name in moving}
    still = {
        name: values for name, values in episode.variables.items() if name not in rows and name not in episode.stays
    }
    width = _name_width([_titled(name) for name in rows])
    lines.append(_row("time [s]", width, [f"{value:.3g}" for value in episode.times_s[-moments:]], 8))
    lines += [_row(_titled(name), width, cells, 8) for name, cells in rows.items()]
    if rest := [f"{name} {_reading(values[-1])}" for name, values in still.items() if values]:
        lines += _wrapped(f"hardly changing: {', '.join(rest)}")
    swings = [
        f"{name} {_reading(swing.low)} to {_reading(swing.high)}, {swing.crossings} times across the middle"
        for name, swing in episode.swings.items()
    ]
    if moments == MOMENTS and swings:
        lines += _wrapped(f"to and fro: {'; '.join(swings)}")
    for name, stay in episode.stays.items():
        if (
            stay.visits == 1
            and stay.first <= episode.times_s[0]
            and (stay.last_left or math.inf) >= episode.times_s[-1]
        ):
            lines.append(f"{name}: throughout")
            continue
        leaving = ", to the end" if stay.last_left is None else f", last left at {number(stay.last_left)} s"
        visits = "once" if stay.visits == 1 else f"{stay.visits} times"
        lines += _wrapped(f"{name}: from {number(stay.first)} s, {visits}, longest {number(stay.longest_s)} s{leaving}")
    return lines


def _moves(name: str, values: Sequence[float], series: Mapping[str, Sequence[float]]) -> bool:
    """True if a row changes visibly; a part of a vector is compared with the part that changes most."""
    span = max(values) - min(values)
    owner, _, part = name.partition(" ")
    siblings = [row for other, row in series.items() if part and other.startswith(f"{owner} ")]
    widest = max((max(row) - min(row) for row in siblings), default=span)
    return span > max(0.02 * widest, 1e-3 * max(map(abs, values)))


def _reading(value: float) -> str:
    """Format a value with two significant digits; a small value may be a remaining distance."""
    if not math.isfinite(value) or abs(value) >= 1e5:
        return number(value)
    rounded = float(f"{value:.2g}")
    return "0" if abs(rounded) < 1e-4 else f"{rounded:.4f}".rstrip("0").rstrip(".")


def _numbers(title: str, width: int, values: Sequence[float]) -> str:
    unit, cells = _scaled(values)
    return _row(title + unit, width, cells)


def _row(title: str, width: int, cells: Sequence[str], cell: int = _CELL) -> str:
    return title.ljust(width) + "".join(text.rjust(cell) for text in cells).rstrip()


def _name_width(names: Sequence[str]) -> int:
    return max(NAME, *(len(name) + 1 for name in names), 0)


def _titled(name: str, unit: str = "") -> str:
    return name[: LONGEST - len(unit)] + unit


def _scaled(values: Sequence[float], digits: int = 3, least: float = 0.01) -> tuple[str, list[str]]:
    """Return a row's unit and cells, with so many digits of the largest value.

    The unit is empty, or such as ` [1e-3]` where the largest value is below `least` or too wide.
    """
    scale = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    unit = ""
    if scale != 0.0 and not least <= scale < 10.0 ** (digits + 2):
        exponent = 3 * math.floor(math.log10(scale) / 3)
        unit, scale = f" [1e{exponent}]", scale / 10.0**exponent
        values = [value / 10.0**exponent for value in values]
    decimals = min(digits, max(0, digits - 1 - math.floor(math.log10(scale)))) if scale else 0
    cells = [f"{value:.{decimals}f}" if math.isfinite(value) else number(value) for value in values]
    return unit, [cell if float(cell) else "0" for cell in cells]


def _thinned(points: Sequence[Any], most: int) -> list[Any]:
    """Return at most so many of the points, evenly spread, with the first and the last."""
    count = min(len(points), most)
    return [points[round(index * (len(points) - 1) / max(count - 1, 1))] for index in range(count)]


def _signed(value: float) -> str:
    return f"{'+' if value >= 0 else ''}{number(value)}"
