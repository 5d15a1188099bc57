"""The library: rewards that solved their task, from finished runs, a user's folder and the shelf, found by nearness.

A folder of a library holds a folder per entry, with `entry.json`, a `LibraryEntry` without name and source, and
`reward.py`, the source. Entries are text of anybody: they are shown, never compiled or executed from here.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from rewardgen.core.config import RunConfig
from rewardgen.core.errors import RewardgenError, UsageError
from rewardgen.core.files import read_plain
from rewardgen.core.formatting import number, percent
from rewardgen.core.resources import shipped
from rewardgen.core.schema import validated
from rewardgen.core.text import all_visible, one_line
from rewardgen.reward.language import check_language
from rewardgen.reward.observation import observed_names
from rewardgen.reward.signature import check_signature
from rewardgen.reward.stages import stage_names
from rewardgen.store.history import History
from rewardgen.store.library_entry import EntryVariable, LibraryEntry
from rewardgen.store.records import TaskCard, VariableCard
from rewardgen.store.run_folder import list_runs

ENTRY, REWARD = "entry.json", "reward.py"
"""Files of an entry."""
SHIPPED = "shipped:"
SOLVED = 0.5
"""Share of successful episodes on fresh seeds from which a task counts as solved."""
_MOST_BYTES, _MOST_SOURCE = 32_768, 8_192
"""Size of an entry without its source, and of the source, at most [bytes]."""
_UNSOLVED = "a library holds rewards that solved their task on fresh seeds"
_SEE = "restore or delete its folder; docs/library.md says what an entry is"
_MODELS = (".xml", ".urdf", ".mjcf")
_WORD = re.compile("[a-z]{3,}")


# Entries.


def entry_of(history: History, name: str) -> LibraryEntry:
    """Make the entry of a finished run's chosen reward.

    Raises:
        UsageError: The run has no reward that solved the task on fresh seeds, or its policy needs earlier rewards too.
    """
    card, summary, training = history.card, history.summary, history.training
    row = summary.row(summary.chosen) if summary else None
    record = history.record(row.candidate_id) if row else None
    if not (card and training and row and row.fitness and record):
        raise UsageError(f"run {history.run_id} has no winner with fitness on fresh seeds", _UNSOLVED)
    if record.chain:
        raise UsageError("the winner's policy was trained by several rewards", "a library holds single rewards")
    human = summary.row("human") if summary else None
    return _checked(
        {
            "name": name,
            "task": card.name,
            "fingerprint": card.fingerprint,
            "robot": robot_of(history.task_files),
            "description": card.description,
            "goal": history.config.goal if history.config else "",
            "success": card.success.removeprefix("Success: "),
            "variables": [each.model_dump(include={"name", "unit", "meaning", "parts"}) for each in card.variables],
            "idea": record.candidate.diagnosis,
            "source": record.candidate.source,
            "fitness": row.fitness.model_dump(),
            "human": human.fitness.model_dump() if human and human.fitness else None,
            "success_rate": row.success_rate,
            "seeds": row.seeds,
            "env_steps": training.env_steps,
            "trainer": training.trainer,
            "origin": f"run {history.run_id}, candidate {record.candidate.id}",
        }
    )


def entry_files(entry: LibraryEntry) -> dict[str, str]:
    """Return the files of an entry by name."""
    data = entry.model_dump(mode="json", exclude={"name", "source"}, exclude_defaults=True)
    return {ENTRY: json.dumps(data, indent=1, ensure_ascii=False) + "\n", REWARD: entry.source}


def _checked(data: dict[str, Any]) -> LibraryEntry:
    """Build an entry from texts of anybody.

    Raises:
        UsageError: It is damaged or too long, its task is not solved, or its reward is not in the reward language.
    """
    entry = validated(LibraryEntry, all_visible(data), "the entry", _SEE)
    if len(entry.source) > _MOST_SOURCE or len(entry.model_dump_json()) > _MOST_BYTES + _MOST_SOURCE:
        raise UsageError("the reward is too long for a library", f"{_MOST_SOURCE:,} characters are allowed")
    inputs = [*(variable.name for variable in entry.variables), "action"]
    inputs += [f"prev_{name}" for name in inputs]
    if findings := (*check_language(entry.source), *check_signature(entry.source, inputs)):
        raise UsageError(f"the reward is refused: {findings[0].message}", findings[0].hint)
    reached, bar = entry.success_rate, entry.human.value if entry.human else math.inf
    if (reached < SOLVED) if reached is not None else (entry.fitness.value < bar):
        result = f"success {percent(reached)}" if reached is not None else f"fitness {number(entry.fitness.value)}"
        raise UsageError(f"the reward did not solve its task: {result} on fresh seeds", _UNSOLVED)
    return entry


def robot_of(files: Iterable[str]) -> str:
    """Name the robot of a task by its model among the task's files, or its Gymnasium module; empty without either."""
    paths = [*map(Path, files)]
    models = [path for path in paths if path.suffix in _MODELS] or [path for path in paths[1:] if path.suffix == ".py"]
    if not models:
        return ""
    return re.sub(r"_v\d+$", "", models[0].stem if models[0].stem != "scene" else models[0].parent.name)


# Places.


def read_library(folder: str | None, runs_dir: Path) -> list[LibraryEntry]:
    """Return the entries of a user's folder, of finished runs and the shipped ones; unsolved runs are left out.

    Raises:
        UsageError: The folder holds no entry, or a damaged one.
    """
    entries = _read_folder(Path(folder), "") if folder else []
    for run in list_runs(runs_dir):
        with suppress(RewardgenError):  # unfinished, unsolved, or of another version
            entries.append(entry_of(History.load(run), run.id))
    return entries + _read_folder(shipped("shelf"), SHIPPED)


def _read_folder(folder: Path, prefix: str) -> list[LibraryEntry]:
    places = sorted(path.parent for path in folder.glob(f"*/{ENTRY}"))
    if not places:
        hint = f"`rewardgen export latest {folder / 'NAME'} --as library` adds a run's winner"
        raise UsageError(f"no rewards in the library {folder}", hint)
    return [_read(place, prefix) for place in places]


def _read(place: Path, prefix: str) -> LibraryEntry:
    try:
        data = json.loads(read_plain(place / ENTRY, _MOST_BYTES))
        source = read_plain(place / REWARD, _MOST_SOURCE).decode()
        return _checked({**data, "name": prefix + place.name, "source": source})
    except UsageError as error:
        raise UsageError(f"library entry {place}: {error.message}", error.hint) from error
    except OSError as error:
        raise UsageError(f"cannot read the library entry {place}: {error.strerror}", _SEE) from error
    except (ValueError, TypeError, RecursionError) as error:
        raise UsageError(f"{place} is no library entry: {one_line(str(error))}", _SEE) from error


# Nearness.


class Query(NamedTuple):
    """What entries are compared with."""

    robot: str = ""
    variables: tuple[VariableCard, ...] | tuple[EntryVariable, ...] = ()
    words: str = ""
    marks: frozenset[str] = frozenset()
    """Texts of which two share one if they are of the same task."""


def query_of(task: TaskCard | LibraryEntry, name: str, robot: str, goal: str) -> Query:
    """Return the query for a task; `Hopper-v5` is the same task as `hopper`, and so is a renamed file."""
    plain = re.sub("[^a-z0-9]", "", re.sub(r"-v\d+$", "", name.lower()))
    description, wanted = (" ".join(text.lower().split()) for text in (task.description, goal))
    marks = {f"name {plain}", f"files {task.fingerprint}", f"description {description}"}
    marks |= {f"{robot}: {wanted}"} if wanted else set()
    return Query(robot, task.variables, f"{task.description} {task.success} {goal}", frozenset(marks))


class Near(NamedTuple):
    """An entry with its nearness to a query, each part from 0 to 1."""

    entry: LibraryEntry
    marks: frozenset[str]
    """See `Query`."""
    robot: float
    """1 for the same robot, else 0."""
    variables: float
    """Likeness of names, units and meanings of the variables."""
    words: float
    """Likeness of the descriptions."""

    @property
    def nearness(self) -> float:
        """Mean of the parts."""
        return (self.robot + self.variables + self.words) / 3


def nearest_entries(query: Query, entries: Sequence[LibraryEntry]) -> list[Near]:
    """Sort entries by nearness to a query; among equal ones, the most successful first."""
    others = [query_of(entry, entry.task, entry.robot, entry.goal) for entry in entries]
    variables = _cosines([Counter(_of_variables(each.variables)) for each in (query, *others)])
    words = _cosines([Counter(_WORD.findall(each.words.lower())) for each in (query, *others)])
    robots = [float(bool(query.robot) and other.robot == query.robot) for other in others]
    near = map(Near, entries, (other.marks for other in others), robots, variables, words)
    return sorted(near, key=lambda each: (-each.nearness, -(each.entry.success_rate or 0.0), each.entry.name))


def _of_variables(variables: Iterable[VariableCard | EntryVariable]) -> Iterator[str]:
    for variable in variables:
        yield f"name {variable.name}"
        for word in _WORD.findall(f"{variable.name} {variable.meaning}".lower()):
            yield from (word, f"{word} [{variable.unit}]")


def _cosines(documents: Sequence[Counter[str]]) -> list[float]:
    """Return the cosine of the first document with each other one, where rare terms weigh more (TF-IDF)."""
    found_in = Counter(term for document in documents for term in document)
    weights = [
        {term: times * math.log(len(documents) / found_in[term]) for term, times in document.items()}
        for document in documents
    ]
    norms = [math.sqrt(math.fsum(weight**2 for weight in each.values())) or 1.0 for each in weights]
    first = weights[0]
    dots = [math.fsum(weight * first.get(term, 0.0) for term, weight in each.items()) for each in weights[1:]]
    return [dot / (norms[0] * norm) for dot, norm in zip(dots, norms[1:], strict=True)]


# Examples.


def choose_examples(
    config: RunConfig, card: TaskCard, files: Iterable[str], runs_dir: Path
) -> tuple[LibraryEntry, ...]:
    """Choose the rewards that a run's designer is shown: the nearest ones, at most one of each task.

    Args:
        config: The run's configuration.
        card: The task.
        files: Paths of the task's files.
        runs_dir: Folder of the runs.

    Raises:
        UsageError: The library of the configuration holds no entry, or a damaged one.
    """
    if not config.examples:
        return ()
    query = query_of(card, card.name, robot_of(files), config.goal)
    shown = set() if config.same_task_examples else {*query.marks}
    chosen: list[LibraryEntry] = []
    for near in nearest_entries(query, read_library(config.library, runs_dir)):
        allowed = config.stages or not stage_names(near.entry.source)
        allowed = allowed and (config.evolve_observation or not observed_names(near.entry.source))
        if allowed and len(chosen) < config.examples and shown.isdisjoint(near.marks):
            shown |= near.marks
            chosen.append(near.entry)
    return tuple(chosen)
