"""The library: rewards that solved their task, from finished runs, a user's folder and the shelf, found by nearness.

A library is a folder with a folder per entry: `entry.json`, a `LibraryEntry` without name and source, and `reward.py`,
the source. Anybody may have written an entry: it is shown, never compiled or executed from here.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from rewardgen.core.config import RunConfig
from rewardgen.core.errors import RewardgenError, UsageError
from rewardgen.core.files import read_plain
from rewardgen.core.resources import shipped
from rewardgen.core.schema import validated
from rewardgen.core.text import all_visible, one_line
from rewardgen.llm.prompts import results_text
from rewardgen.reward.language import check_language
from rewardgen.reward.observation import observed_names
from rewardgen.reward.signature import check_signature
from rewardgen.reward.stages import stage_names
from rewardgen.store.history import History
from rewardgen.store.library_entry import EntryVariable, LibraryEntry
from rewardgen.store.records import TaskCard
from rewardgen.store.run_folder import list_runs

ENTRY, REWARD, SHIPPED = "entry.json", "reward.py", "shipped:"
"""Files of an entry; prefix of the names of shipped ones."""
_SOLVED = 0.5
"""Share of successful episodes on fresh seeds from which a task counts as solved."""
_MOST_BYTES, _MOST_SOURCE = 32_768, 8_192
"""Size of `entry.json` and of `reward.py` at most [bytes]."""
_NEEDED = "a library holds single rewards that solved their task on fresh seeds: docs/library.md"
_SEE = "restore or delete its folder; docs/library.md says what an entry is"
_WORD = re.compile("[a-z]{3,}")


def entry_of(history: History, name: str) -> LibraryEntry:
    """Make the entry of a finished run's chosen reward, which must have solved the task alone on fresh seeds."""
    config, card, summary, training = history.config, history.card, history.summary, history.training
    row = summary.row(summary.chosen) if summary else None
    record = history.record(row.candidate_id) if row and row.fitness else None
    if not (config and card and summary and training and row and record):
        raise UsageError(f"run {history.run_id} has no winner with fitness on fresh seeds", _NEEDED)
    if record.chain:
        raise UsageError("the winner's policy was trained by several rewards", _NEEDED)
    human = summary.row("human")
    task: dict[str, Any] = {"task": card.name, "robot": robot_of(history.task_files)}
    task |= {"description": card.description, "goal": config.goal, "success": card.success.removeprefix("Success: ")}
    evidence = {"fitness": row.fitness, "human": human and human.fitness, "success_rate": row.success_rate}
    evidence |= {"seeds": row.seeds, "env_steps": training.env_steps, "trainer": training.trainer}
    task["variables"] = [each.model_dump(include={*EntryVariable.model_fields}) for each in card.variables]
    reward = {"idea": record.candidate.diagnosis, "source": record.candidate.source}
    reward["origin"] = f"run {history.run_id}, candidate {record.candidate.id}"
    return _checked({"name": name, **task, **reward, **evidence})


def entry_files(entry: LibraryEntry) -> dict[str, str]:
    """Return the files of an entry by name."""
    data = entry.model_dump(mode="json", exclude={"name", "source"}, exclude_defaults=True)
    return {ENTRY: json.dumps(data, indent=1, ensure_ascii=False) + "\n", REWARD: entry.source}


def _checked(data: dict[str, Any]) -> LibraryEntry:
    """Build an entry from texts of anybody: whole, short enough, solved, and in the reward language."""
    entry = validated(LibraryEntry, all_visible(data), "the entry", _SEE)
    if len(entry.source) > _MOST_SOURCE:
        raise UsageError("the reward is too long for a library", f"{_MOST_SOURCE:,} characters are allowed")
    inputs = [*(variable.name for variable in entry.variables), "action"]
    inputs += [f"prev_{name}" for name in inputs]
    if findings := (*check_language(entry.source), *check_signature(entry.source, inputs)):
        raise UsageError(f"the reward is refused: {findings[0].message}", findings[0].hint)
    rate, bar = entry.success_rate, entry.human.value if entry.human else math.inf
    if (rate < _SOLVED) if rate is not None else (entry.fitness.value < bar):
        raise UsageError(f"the reward did not solve its task: {results_text(entry)}", _NEEDED)
    return entry


def read_library(folder: str | None, runs_dir: Path) -> list[LibraryEntry]:
    """Return the entries of a user's folder, of finished runs and the shipped ones; unsolved runs are left out."""
    entries = [_read(file.parent, "") for file in sorted(Path(folder).glob(f"*/{ENTRY}"))] if folder else []
    if folder and not entries:
        hint = f"`rewardgen export latest {folder}/NAME --as library` adds a run's winner"
        raise UsageError(f"no rewards in the library {folder}", hint)
    for run in list_runs(runs_dir):
        with suppress(RewardgenError):  # unfinished, unsolved, or of another version
            entries.append(entry_of(History.load(run), run.id))
    return entries + [_read(file.parent, SHIPPED) for file in sorted(shipped("shelf").glob(f"*/{ENTRY}"))]


def _read(place: Path, prefix: str) -> LibraryEntry:
    try:
        data = json.loads(read_plain(place / ENTRY, _MOST_BYTES))
        source = read_plain(place / REWARD, _MOST_SOURCE).decode()
        return _checked({**data, "name": prefix + place.name, "source": source})
    except UsageError as error:
        raise UsageError(f"library entry {place}: {error.message}", error.hint) from error
    except (OSError, ValueError, TypeError, RecursionError) as error:
        why = getattr(error, "strerror", None) or one_line(str(error))
        raise UsageError(f"library entry {place}: cannot be read: {why}", _SEE) from error


def robot_of(files: Iterable[str]) -> str:
    """Name the robot of a task by its model among the task's files, or its Gymnasium module; empty without either."""
    paths = [*map(Path, files)][1:]  # after the task's own file
    models = [path for path in paths if path.suffix in (".xml", ".urdf", ".mjcf")]
    model = next(iter(models or [path for path in paths if path.suffix == ".py"]), Path())
    return re.sub(r"_v\d+$", "", model.stem if model.stem != "scene" else model.parent.name)


class Query(NamedTuple):
    """Features of a task that entries are compared by."""

    robot: str
    variables: Mapping[str, int]
    """Names, and words of meanings with and without units, with their counts."""
    text: str
    marks: frozenset[str] = frozenset()
    """Texts of which two share one if they are of the same task: `Hopper-v5` and `hopper`, or a renamed file."""


def query_of(task: TaskCard | LibraryEntry, name: str, robot: str, goal: str) -> Query:
    """Return the query for a task of some name."""
    terms = Counter(variable.name for variable in task.variables)
    for variable in task.variables:
        words = _WORD.findall(f"{variable.name} {variable.meaning}".lower())
        terms.update((*words, *(f"{word} [{variable.unit}]" for word in words)))
    plain = re.sub("[^a-z0-9]", "", re.sub(r"-v\d+$", "", name.lower()))
    description, wanted = (" ".join(text.lower().split()) for text in (task.description, goal))
    marks = {f"name {plain}", f"description {description}", *([f"{robot}: {wanted}"] if wanted else [])}
    return Query(robot, terms, f"{task.description} {task.success} {goal}", frozenset(marks))


def nearest_entries(query: Query, entries: Sequence[LibraryEntry]) -> list[tuple[float, LibraryEntry, bool]]:
    """Sort entries by nearness, then by success; return nearness, the entry, and True if its task is the query's.

    Nearness is the mean of three parts from 0 to 1: the same robot, and the likeness of variables and of words.
    """
    others = [query_of(entry, entry.task, entry.robot, entry.goal) for entry in entries]
    robots = [float(bool(query.robot) and other.robot == query.robot) for other in others]
    variables = _cosines([each.variables for each in (query, *others)])
    words = _cosines([Counter(_WORD.findall(each.text.lower())) for each in (query, *others)])
    nearness = [sum(parts) / 3 for parts in zip(robots, variables, words, strict=True)]
    near = zip(nearness, entries, (bool(query.marks & other.marks) for other in others), strict=True)
    return sorted(near, key=lambda each: (-each[0], -(each[1].success_rate or 0.0), each[1].name))


def _cosines(documents: Sequence[Mapping[str, int]]) -> list[float]:
    """Return the cosine of the first document with each other one, where rare terms weigh more (TF-IDF)."""
    found_in = Counter(term for document in documents for term in document)
    weights = [
        {term: times * math.log(len(documents) / found_in[term]) for term, times in document.items()}
        for document in documents
    ]
    norms = [math.sqrt(math.fsum(weight**2 for weight in each.values())) or 1.0 for each in weights]
    dots = [math.fsum(weight * weights[0].get(term, 0.0) for term, weight in each.items()) for each in weights]
    return [dot / (norms[0] * norm) for dot, norm in zip(dots[1:], norms[1:], strict=True)]


def choose_examples(config: RunConfig, card: TaskCard, files: Iterable[str], runs_dir: Path) -> list[LibraryEntry]:
    """Choose the rewards that a run's designer is shown: the nearest ones, at most one of each task."""
    if not config.examples:
        return []
    chosen: dict[str, LibraryEntry] = {}
    query = query_of(card, card.name, robot_of(files), config.goal)
    for _, entry, same in nearest_entries(query, read_library(config.library, runs_dir)):
        fits = config.stages or not stage_names(entry.source)
        fits = fits and (config.evolve_observation or not observed_names(entry.source))
        if fits and (config.same_task_examples or not same):
            chosen.setdefault(entry.task, entry)
    return [*chosen.values()][: config.examples]
