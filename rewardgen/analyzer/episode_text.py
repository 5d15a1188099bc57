"""Describe the behaviour of a trained policy in numbers, for a reader without a film.

The text holds a typical and the worst episode, and the best one if it stands out. All numbers come from the clean
evaluation, which loads no generated code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import Field, ValidationError

from rewardgen.core.errors import RunFolderError, WorkerError
from rewardgen.core.formatting import named, number, percent, shares
from rewardgen.core.schema import Frozen
from rewardgen.sandbox.folders import discard
from rewardgen.sandbox.jobs import register
from rewardgen.sandbox.process import Limits, run_worker
from rewardgen.store.measurements import ComponentName, Count, EpisodeDigest, EpisodeRow, KeptEpisode, episode_rows
from rewardgen.store.records import CandidateResult, SliceResult, TaskCard
from rewardgen.tasks.measure import TASK_FILES

DIGEST = register("digest", "rewardgen.analyzer.digest_job:digest_job", reads=("file",), inputs=TASK_FILES)

MOMENTS = 7
"""Most times at which the text has each variable's value."""
MOST_ROWS = 24
"""Most rows of an episode; see `episode_rows`."""
ALIKE = 0.05
"""Difference of fitness, relative to the larger, below which the worst episode is like the typical one."""
MUCH_FITTER = 0.5
"""Lead of the best failed episode over a typical one, as a share of its fitness, from which it stands out."""


class VariableReading(Frozen):
    """One variable, or a part of it, over an episode."""

    values: tuple[float, ...] = Field(min_length=1, max_length=MOMENTS)
    lowest: tuple[float, float]
    """Value and time [s]."""
    highest: tuple[float, float]
    crossings: Count
    """Crossings of the middle between lowest and highest value."""


class EpisodeReading(Frozen):
    """A worker's reading of an episode."""

    times_s: tuple[float, ...] = Field(min_length=1, max_length=MOMENTS)
    rows: tuple[VariableReading, ...]
    parts: dict[ComponentName, float] = Field(max_length=32)
    action_size: float
    action_change: float


def episode_text(
    result: CandidateResult, task: str, card: TaskCard, policies: Path, limits: Limits, scratch: Path
) -> str:
    """Describe the episodes of the typical policy of a result, with the fitness of all if the task has one.

    A worker reads the kept episodes in the folder `policies`; its own folder, `scratch`, is deleted afterwards.

    Raises:
        RunFolderError: The episodes are gone.
        WorkerError: The episodes cannot be read.
    """
    chosen = result.typical
    if chosen is None or not chosen.kept or chosen.episodes_file is None:
        raise RunFolderError("no episodes of the typical policy were kept")
    tables = episode_tables(policies / chosen.episodes_file, len(chosen.kept), task, card, limits, scratch)
    episodes = list(zip(chosen.kept, tables, strict=True))
    luckiest, typical, worst = episodes[0], episodes[len(episodes) // 2], episodes[-1]
    rated = _is_rated(chosen)
    if not card.has_fitness:
        shown = [_episode(f"episode {number}", *each, card, rated) for number, each in enumerate(episodes[:2], 1)]
        return "\n\n".join([_overview(result, chosen, card), *shown]) + "\n"
    sections = [
        _overview(result, chosen, card),
        _episode("a typical episode, the median by fitness", *typical, card, rated),
    ]
    if _apart(typical[0], worst[0]):
        sections.append(_episode("the worst episode by fitness", *worst, card, rated))
    elif len(episodes) > 1:
        sections.append(_heading("the worst episode by fitness is like it", worst[0], card, rated))
    if stands_out(luckiest[0], typical[0]):
        sections.append(_episode("the best episode by fitness, unlike the typical one", *luckiest, card, rated))
    return "\n\n".join(sections) + "\n"


def stands_out(best: KeptEpisode | EpisodeDigest, typical: KeptEpisode | EpisodeDigest) -> bool:
    """Return True if a typical episode fails, and the best one succeeds or is much fitter."""
    much = best.fitness - typical.fitness > MUCH_FITTER * abs(best.fitness)
    return not typical.success and (best.success or much)


class EpisodeTable(NamedTuple):
    """Parts of an episode's fitness, and as text its actions' size and its variables where most changes."""

    parts: dict[str, float]
    text: str


def episode_tables(
    path: Path, episodes: int, task: str, card: TaskCard, limits: Limits, scratch: Path
) -> list[EpisodeTable]:
    """Read a file of a number of episodes; see `episode_text` for the other arguments.

    Raises:
        WorkerError: The episodes cannot be read.
    """
    rows = card_rows(card)
    readings = _read(path, list(rows.values()), task, card, limits, scratch)
    if len(readings) != episodes or any(len(reading.rows) != len(rows) for reading in readings):
        raise WorkerError("the digest worker answered with other episodes or variables than requested")
    return [EpisodeTable(reading.parts, _table(reading, rows)) for reading in readings]


def card_rows(card: TaskCard) -> dict[str, EpisodeRow]:
    """Return the rows of a task's variables by title with unit, such as `height [m]`; see `episode_rows`."""
    units = {variable.name: variable.unit for variable in card.variables}
    rates = {name for name, unit in units.items() if "/s" in unit}
    rows = episode_rows({variable.name: variable.parts for variable in card.variables}, MOST_ROWS, last=rates)
    return {f"{row.title} [{units[row.variable]}]": row for row in rows}


def _read(
    path: Path, rows: Sequence[EpisodeRow], task: str, card: TaskCard, limits: Limits, scratch: Path
) -> list[EpisodeReading]:
    units = {variable.name: variable.unit for variable in card.variables}
    payload = {
        "task": task,
        "file": str(path.resolve()),
        "control_step_s": card.control_step_s,
        "episode_steps": card.episode_steps,
        "moments": MOMENTS,
        "rows": [(row.variable, row.part, units[row.variable]) for row in rows],
    }
    try:
        answer = run_worker(DIGEST, payload, limits=limits, scratch=scratch)
        return [EpisodeReading.model_validate(episode) for episode in answer["episodes"]]
    except (ValidationError, LookupError, TypeError) as error:
        raise WorkerError("the digest worker answered out of contract") from error
    finally:
        discard(scratch)


def _apart(typical: KeptEpisode, worst: KeptEpisode) -> bool:
    most = ALIKE * max(abs(typical.fitness), abs(worst.fitness))
    same = (typical.success, typical.ending) == (worst.success, worst.ending)
    return not same or abs(typical.fitness - worst.fitness) > most


def _overview(result: CandidateResult, chosen: SliceResult, card: TaskCard) -> str:
    by_seed = [run for run in result.slices if run.final_fitness is not None]
    fitness = ", ".join(number(run.final_fitness or 0.0) for run in by_seed)
    rated, success = _is_rated(chosen), ", ".join(percent(run.final_success_rate) for run in by_seed)
    endings = Counter(kept.ending for run in result.slices for kept in run.kept if kept.ending)
    lines = [f"policies trained on the chosen reward, one per fresh seed: {len(by_seed)}"]
    if card.has_fitness:
        lines.append(f"fitness of each: {fitness}")
    if rated:
        lines.append(f"success rate of each: {success}")
    if result.parts:
        lines.append(f"parts of the fitness, over all of them: {named(result.parts)}")
    if endings:
        ended = shares({name: count / endings.total() for name, count in endings.items()})
        some = "their best, median and worst" if card.has_fitness else "some of their"
        lines.append(f"{some} episodes ended by: {ended}")
    if not card.has_fitness:
        return "\n".join([*lines, "below: episodes of one of them"])
    measured = f"mean of its last two checkpoints: fitness {number(chosen.final_fitness or 0.0)}"
    measured += f", success {percent(chosen.final_success_rate)}" if rated else ""
    return "\n".join([*lines, f"below: the policy with the median fitness ({measured})"])


def _is_rated(run: SliceResult) -> bool:
    """True if the task says when an episode is a success."""
    return run.final_success_rate is not None


def _heading(title: str, kept: KeptEpisode, card: TaskCard, rated: bool) -> str:
    success = ("success, " if kept.success else "no success, ") if rated else ""
    fitness = f"fitness {number(kept.fitness)}, " if card.has_fitness else ""
    return f"{title}: {fitness}{success}{lasted(kept.steps, kept.ending, card)}"


def lasted(steps: int, ending: str, card: TaskCard) -> str:
    """Return length and ending of an episode in words."""
    length = f"{steps} of {card.episode_steps} steps = {number(steps * card.control_step_s)} s"
    return f"{length}, ended by {ending}" if ending else length


def _episode(title: str, kept: KeptEpisode, table: EpisodeTable, card: TaskCard, rated: bool) -> str:
    parts = [f"parts of the fitness: {named(table.parts)}"] if table.parts else []
    return "\n".join([_heading(title, kept, card, rated), *parts, table.text])


def _table(reading: EpisodeReading, titles: Iterable[str]) -> str:
    lines = [f"action: mean size {number(reading.action_size)}, mean change per step {number(reading.action_change)}"]
    cells = [["time [s]", *map(number, reading.times_s), "lowest", "at [s]", "highest", "at [s]", "crossings"]]
    for title, read in zip(titles, reading.rows, strict=True):
        cells.append([title, *map(number, (*read.values, *read.lowest, *read.highest)), str(read.crossings)])
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    lines += [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in cells
    ]
    return "\n".join(lines)
