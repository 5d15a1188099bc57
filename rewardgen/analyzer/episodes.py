"""Best, median and worst episode side by side, read at a few times."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rewardgen.analyzer.layout import Number, name_width, scaled, titled
from rewardgen.llm.prompts import number
from rewardgen.store.measurements import EpisodeDigest
from rewardgen.store.records import CandidateResult

MOMENTS = 2
"""Times at which each of three episodes is shown, about midway and at its end: they all begin alike."""
MOMENTS_ALONE = 6
ALIKE = 0.05
"""Difference of fitness, relative to the larger, of episodes that are not worth showing twice."""
_WIDEST = 19
"""Of a row's name with its unit; of a longer name the end is cut."""
_SMALL = Number(digits=2, width=7, least=0.1)

Rows = dict[str, list[float]]


def episode_lines(result: CandidateResult, left_out: Collection[str]) -> list[str]:
    """The best, a median and the worst over all seeds; a single one if they are alike.

    Args:
        result: The candidate's slices.
        left_out: Names of variables and components that are not worth their rows.
    """
    found = [_without(digest, left_out) for each in result.slices for digest in each.episodes]
    if not found:
        return []
    ranked = sorted(found, key=lambda each: each.fitness, reverse=True)
    best, median, worst = ranked[0], ranked[(len(ranked) - 1) // 2], ranked[-1]
    if _alike(best, worst):
        return _side_by_side({"a typical episode (best and worst are alike)": best}, MOMENTS_ALONE)
    return _side_by_side({"best episode": best, "median episode": median, "worst episode": worst}, MOMENTS)


def _without(digest: EpisodeDigest, left_out: Collection[str]) -> EpisodeDigest:
    kept = {
        kind: {name: values for name, values in readings.items() if name not in left_out}
        for kind, readings in (("variables", digest.variables), ("components", digest.components))
    }
    return digest.model_copy(update=kept)


def _alike(best: EpisodeDigest, worst: EpisodeDigest) -> bool:
    close = abs(best.fitness - worst.fitness) <= ALIKE * max(abs(best.fitness), abs(worst.fitness))
    return close and best.ending == worst.ending


def _side_by_side(episodes: dict[str, EpisodeDigest], moments: int) -> list[str]:
    rows = [_rows(digest, moments) for digest in episodes.values()]
    names = [name for name in rows[0] if any(any(each.get(name, ())) for each in rows)]
    lines = {name: scaled([value for each in rows for value in each[name]], _SMALL) for name in names}
    titles = {name: titled(name, unit, _WIDEST) for name, (unit, _) in lines.items()}
    width = name_width(list(titles.values()))
    return [
        *(_headline(title, digest) for title, digest in episodes.items()),
        *(_line(titles[name], width, cells, moments) for name, (_, cells) in lines.items()),
        "([components] per step; vectors, small components, rows of zeros left out)",
    ]


def _rows(digest: EpisodeDigest, moments: int) -> Rows:
    """What is shown of an episode, by name; short episodes repeat a moment."""
    components = {f"[{name}]": values for name, values in digest.components.items()}
    everything = {"time [s]": digest.times_s, **digest.variables, **components}
    return {name: _spread(values, moments) for name, values in everything.items()}


def _spread(values: Sequence[float], moments: int) -> list[float]:
    """From the first to the last of them; of two, one from the middle and the last."""
    first = 0 if moments > MOMENTS else (len(values) - 1) // 2
    return [values[first + round(index * (len(values) - 1 - first) / (moments - 1))] for index in range(moments)]


def _line(title: str, width: int, cells: Sequence[str], moments: int) -> str:
    episodes = [cells[start : start + moments] for start in range(0, len(cells), moments)]
    return title.ljust(width) + " |".join("".join(cell.rjust(_SMALL.width) for cell in each) for each in episodes)


def _headline(title: str, digest: EpisodeDigest) -> str:
    success = "success" if digest.success else "no success"
    return f"{title}: fitness {number(digest.fitness)}, {success}, {digest.steps} steps, ended by {digest.ending}"
