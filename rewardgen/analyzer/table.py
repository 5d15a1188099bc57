"""What training showed of a candidate as compact text, for a prompt or a terminal 100 columns wide."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rewardgen.analyzer.course import Course, correlation
from rewardgen.prompts import number, percent, shares
from rewardgen.records import CandidateResult, ComponentPoint, EpisodeDigest, EvaluationPoint, Study
from rewardgen.stats import noise

MAX_COLUMNS = 6
"""Evaluations that are shown, the first and the last among them."""

MAX_MOMENTS = 4
"""Times at which an episode is shown; half of a prompt's numbers are these."""

_WIDTH = 9


def table_text(study: Study, parent: Study | None, course: Course) -> str:
    """Fitness against the parent, learning curve, components, endings, and single episodes.

    Args:
        study: The candidate with its result.
        parent: The best parent that has a fitness, if any.
        course: The candidate's training.
    """
    result = study.result
    if result is None:
        return f"not trained: {study.outcome}\n"
    parts = [_verdict_lines(study, result, parent)]
    if course.curve:
        parts += [_curve_lines(course), _component_lines(course), _ending_lines(course)]
        parts += [_episode_lines(result)]
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"


def verdict_on(delta: float, study: Study, parent: Study) -> str:
    """Whether a difference of fitness exceeds two standard errors of both candidates over their seeds."""
    results = [each.result for each in (study, parent) if each.result]
    if any(len(result.slices) < 2 for result in results):
        return "one seed only, so it may be noise"
    beyond = abs(delta) > noise(*(result.fitness_spread for result in results))
    return "beyond noise" if beyond else "within noise"


def _verdict_lines(study: Study, result: CandidateResult, parent: Study | None) -> list[str]:
    if result.fitness is None or result.failure:
        return [f"failed: {study.outcome or 'no fitness could be measured'}"]
    values = ", ".join(number(each.final_fitness) for each in result.slices if each.final_fitness is not None)
    success = "" if result.success_rate is None else f"; success {percent(result.success_rate)}"
    lines = [f"fitness {number(result.fitness)} ± {number(result.fitness_spread)} (by seed: {values}){success}"]
    if parent is not None and parent.fitness is not None:
        delta = result.fitness - parent.fitness
        lines.append(
            f"parent {parent.candidate.id} has {number(parent.fitness)}: "
            f"{'+' if delta >= 0 else ''}{number(delta)}, {verdict_on(delta, study, parent)}"
        )
    return lines


def _curve_lines(course: Course) -> list[str]:
    points = _thinned(course.curve)
    width = _name_width(course)
    seeds = len(course.curves)
    return [
        _row(
            f"mean of {seeds} seeds" if seeds > 1 else "training steps",
            width,
            [_thousands(p.env_steps) for p in points],
        ),
        _row("fitness", width, _cells([point.fitness for point in points])),
        _row("success rate", width, [percent(point.success_rate) for point in points]),
        _row("steps per episode", width, _cells([point.episode_steps for point in points])),
        _row("reward per episode", width, _cells([point.episode_return for point in points])),
        _row("reward per step", width, _cells([_per_step(point) for point in points])),
    ]


def _component_lines(course: Course) -> list[str]:
    columns = len(_thinned(course.curve))
    width = _name_width(course)
    head = _row("component per step", width, []).ljust(width + columns * _WIDTH) + "    share %  active      r"
    legend = "(share of the summed |components|, first to last; active: steps where it is not ~0; r: with fitness)"
    return [head, *(_component_row(key, points, width) for key, points in course.components.items()), legend]


def _component_row(key: str, points: Sequence[ComponentPoint], width: int) -> str:
    means = _row(key, width, _cells([point.mean for point in _thinned(points)]))
    share = f"{100 * points[0].share:.0f} to {100 * points[-1].share:.0f}"
    r = correlation(points)
    shown = "-" if r is None else f"{r:+.2f}"
    return f"{means}{share:>11}{percent(points[-1].activation):>8}{shown:>7}"


def _ending_lines(course: Course) -> list[str]:
    return [f"episodes of the last evaluation end by: {shares(course.endings)}"] if course.endings else []


def _episode_lines(result: CandidateResult) -> list[str]:
    """Best and worst over all seeds in detail, the median in one line; only one of them if they are alike."""
    found = [digest for each in result.slices for digest in each.episodes]
    if not found:
        return []
    legend = "(episodes: vectors by their norm, [components] per step, rows that are all 0 left out)"
    best, worst = max(found, key=lambda each: each.fitness), min(found, key=lambda each: each.fitness)
    if _alike(best, worst):
        return [*_digest_lines("a typical episode (best and worst are alike)", best), legend]
    middle = sorted((each for each in found if each.rank == "median"), key=lambda each: each.fitness)
    median = [_headline("median episode", middle[len(middle) // 2])] if middle else []
    return [*_digest_lines("best episode", best), *median, *_digest_lines("worst episode", worst), legend]


def _alike(best: EpisodeDigest, worst: EpisodeDigest) -> bool:
    close = abs(best.fitness - worst.fitness) <= 0.05 * max(abs(best.fitness), abs(worst.fitness))
    return close and best.ending == worst.ending


def _digest_lines(title: str, digest: EpisodeDigest) -> list[str]:
    rows = {**digest.variables, **{f"[{name}]": values for name, values in digest.components.items()}}
    width = max([*map(len, rows), 9]) + 3
    return [
        _headline(title, digest),
        _row("  time [s]", width, [number(time) for time in _thinned(digest.times_s, MAX_MOMENTS)]),
        *(
            _row(f"  {key}", width, _cells(_thinned(values, MAX_MOMENTS)))
            for key, values in rows.items()
            if any(values)
        ),
    ]


def _headline(title: str, digest: EpisodeDigest) -> str:
    success = "success" if digest.success else "no success"
    return f"{title}: fitness {number(digest.fitness)}, {success}, {digest.steps} steps, ended by {digest.ending}"


def _row(title: str, width: int, cells: Sequence[str]) -> str:
    return title.ljust(width) + "".join(cell.rjust(_WIDTH) for cell in cells).rstrip()


def _cells(values: Sequence[float]) -> list[str]:
    """A row with as many decimals as its largest value needs for three digits."""
    scale = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    if not 1e-6 < scale < 1e6:
        return [number(value) for value in values]
    decimals = max(0, 2 - math.floor(math.log10(scale)))
    return [_fixed(value, decimals) for value in values]


def _fixed(value: float, decimals: int) -> str:
    text = f"{value:.{decimals}f}"
    return text if float(text) else "0"


def _name_width(course: Course) -> int:
    return max(18, *map(len, course.components), 0) + 1


def _per_step(point: EvaluationPoint) -> float:
    return point.episode_return / max(point.episode_steps, 1.0)


def _thousands(steps: int) -> str:
    return f"{steps / 1000:.0f}k" if steps >= 1000 else str(steps)


def _thinned(points: Sequence, most: int = MAX_COLUMNS) -> list:
    last = len(points) - 1
    count = min(len(points), most)
    return [points[round(index * last / max(count - 1, 1))] for index in range(count)]
