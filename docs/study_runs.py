"""The kept runs of the study: packed, unpacked and read."""

from __future__ import annotations

import json
import re
import tarfile
import tempfile
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from rewardgen.api.drafting import DRAFT_SUFFIX
from rewardgen.core.config import BUILTIN, RunConfig, options_text
from rewardgen.core.files import write_atomic
from rewardgen.store.history import FinalRow, History, Summary
from rewardgen.store.records import CandidateRecord
from rewardgen.store.run_folder import RunFolder

ARCHIVES = Path(__file__).parent.parent / "benchmarks" / "evidence"
"""Holds an archive per run, `NAME.tar.xz`."""
KEPT = ARCHIVES / "runs"
"""Holds the unpacked runs; git ignores it."""
_DIGITS = {"components": 4, "episodes": 4, "curve": 7, "outcomes": 7}
"""Significant digits of what is kept of a training; no table of the study reads components and episodes."""
WAYS = ("evolve", "best-of-n", "built-in")
"""Two strategies with a language model, and the search with the built-in designer."""
DRAFTS = ("drafts", "drafts-in-stages")
"""Ways of the second round: drafts by as many readers in one generation, and the same with `--stages`."""
WORDS = "words"
"""The way of runs on tasks that were drafted from a sentence."""
_NO_WAY = ("strategy", "ablate", "workers", "concurrency", "call_timeout_s", "executor", "cluster", "api_base", "films")
"""Options that the way's name holds already, or that do not change what a search finds."""
VERDICTS = {"above": "better", "on par": "undecided", "below": "worse", None: "no winner"}
_DRAFT_FILES = ("draft.json", "sketches.json", "draft-*.py", "llm/*.json")


class StudyRun(NamedTuple):
    """One finished run of the study."""

    task: str
    way: str
    """One of `WAYS`, `DRAFTS`, `WORDS`, or a strategy without a part of the search: `evolve-without-analyzer`."""
    seed: int
    folder: RunFolder
    history: History
    summary: Summary

    @property
    def name(self) -> str:
        """Its folder's: of a task from a sentence, as its mailbox was called."""
        if self.way == WORDS and self.history.config:
            return Path(self.history.config.model.partition(":")[2]).name
        return f"{self.task}-{self.way}-{self.seed}"

    @property
    def verdict(self) -> str:
        """Its winner against the human reward, on fresh seeds."""
        return VERDICTS[self.summary.against_human if self.summary.chosen else None]

    @property
    def candidates(self) -> list[CandidateRecord]:
        """Of the search, in their order."""
        return [found for id in self.history.ids() if (found := self.history.record(id))]

    def row(self, id: str) -> FinalRow | None:
        """A row of its closing table: `human`, `sparse` or `winner`."""
        wanted = self.summary.chosen if id == "winner" else id
        return next((row for row in self.summary.rows if row.candidate_id == wanted), None)


def read(folders: Iterable[RunFolder], joined: bool = False) -> list[StudyRun]:
    """The finished runs among some, by way, task and seed.

    Args:
        folders: Of runs.
        joined: True for runs that join the leaderboard. Then those that did not finish count too, without a winner, and
            options that its protocol does not set are part of the way's name.
    """
    found: list[StudyRun] = []
    for folder in folders:
        history = History.load(folder)
        summary = history.summary or (Summary(reason=history.error or "not finished") if joined else None)
        if history.config and history.card and summary:
            way = " ".join(filter(None, (_way_of(history.config), _own_options(history.config) if joined else "")))
            found.append(StudyRun(history.card.name, way, history.config.seed, folder, history, summary))
    places = {way: place for place, way in enumerate(WAYS)}
    return sorted(found, key=lambda run: (run.task, places.get(run.way, len(places)), run.seed, run.name))


def _way_of(config: RunConfig) -> str:
    if config.goal:
        return WORDS
    if config.strategy == "best-of-n" and config.generations == 1:
        return DRAFTS[bool(config.stages)]
    way = "built-in" if config.model == BUILTIN else config.strategy
    return "-without-".join((way, *config.ablate))


def _own_options(config: RunConfig) -> str:
    """The options of a run that are neither the protocol's nor of no effect on what it finds."""
    protocol = tomllib.loads((ARCHIVES / "leaderboard.toml").read_text())["run"]
    usual = [name for name, value in protocol.items() if getattr(config, name) == value]
    fields = RunConfig.model_fields
    return options_text(config.model_copy(update={name: fields[name].default for name in (*usual, *_NO_WAY)}))


def unpack(archives: Path = ARCHIVES, into: Path = KEPT) -> None:
    """Unpack the archives whose run is not unpacked yet; several processes may do so at once.

    Args:
        archives: Folder of the archives.
        into: Folder of the unpacked runs.
    """
    into.mkdir(parents=True, exist_ok=True)
    for archive in sorted(archives.glob("*.tar.xz")):
        run = into / archive.name.removesuffix(".tar.xz")
        if run.is_dir():
            continue
        with tempfile.TemporaryDirectory(dir=archives, prefix=".unpacking-") as place, tarfile.open(archive) as packed:
            packed.extractall(place, filter="data")
            try:
                (Path(place) / run.name).rename(run)
            except OSError:
                if not run.is_dir():  # otherwise another process was first
                    raise


def pack(run: Path, archives: Path = ARCHIVES) -> None:
    """Write the archive of an unpacked run; the same files give the same bytes.

    Args:
        run: The run's folder.
        archives: Folder of the archives.
    """
    with tarfile.open(archives / f"{run.name}.tar.xz", "w:xz", preset=9) as packed:
        for path in sorted(path for path in run.rglob("*") if path.is_file() and path.name != "lock"):
            entry = tarfile.TarInfo(str(path.relative_to(run.parent)))
            entry.size = path.stat().st_size
            with path.open("rb") as content:
                packed.addfile(entry, content)


def shortened(line: str) -> str:
    """A line of the event log with what it tells of a training in fewer digits."""
    event = json.loads(line)
    result = event["data"].get("slice")
    for name, digits in _DIGITS.items() if isinstance(result, dict) else ():
        result[name] = rounded(result.get(name), digits)
    return f"{json.dumps(event, separators=(',', ':'))}\n"


def rounded(value: object, digits: int) -> object:
    """JSON data with every float cut to a few digits."""
    if isinstance(value, dict):
        return {name: rounded(part, digits) for name, part in value.items()}
    if isinstance(value, list):
        return [rounded(part, digits) for part in value]
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value


def keep(runs: Sequence[RunFolder], into: Path = KEPT) -> None:
    """Copy finished runs: their events and calls, and the file and the drafting of a drafted task.

    Args:
        runs: Their folders.
        into: Folder of the unpacked runs.
    """
    for folder in runs:
        (run,) = read([folder])
        files = {path: path.relative_to(folder.path) for path in (folder.events, *folder.calls.glob("*.json"))}
        places = {str(Path(each).parents[2]) for each in run.history.task_files if "/envs/" in each}
        places.add(str(Path(__file__).resolve().parents[1]))
        if run.way == WORDS and run.history.config:
            task = Path(run.history.config.task)
            draft = task.with_suffix(DRAFT_SUFFIX)
            drafting = (path for pattern in _DRAFT_FILES for path in draft.glob(pattern))
            files |= {task: Path("task.py"), **{path: "draft" / path.relative_to(draft) for path in drafting}}
            places.add(str(task.parent))
        for source, name in files.items():
            text = re.sub(r'(mailbox|replay):/[^"]*/', r"\1:", source.read_text())
            text = re.sub(r'/[^" ]*/site-packages', "/python", text)
            for place in places:
                text = text.replace(place, "/rewardgen")
            if source == folder.events:
                text = "".join(map(shortened, text.splitlines()))
            write_atomic(into / run.name / name, text)
        if into == KEPT:
            pack(into / run.name)


def tasks_of(runs: Sequence[StudyRun]) -> list[str]:
    """The tasks of some runs."""
    return list(dict.fromkeys(run.task for run in runs))


def cells_of(runs: Sequence[StudyRun]) -> list[tuple[str, int]]:
    """Task and search seed of some runs."""
    return list(dict.fromkeys((run.task, run.seed) for run in runs))


def on_fresh_seeds(run: StudyRun, id: str = "") -> list[float]:
    """What the policies of the winner, or of another reward, reach on the fresh seeds."""
    result = run.history.result("final", id or run.summary.chosen or "")
    return [*result.by_seed.values()] if result else []


def own_row(runs: Sequence[StudyRun], id: str) -> FinalRow | None:
    """A row of the task's own reward. Runs with the same seed have the same fresh seeds: of that which opened most."""
    return max((row for run in runs if (row := run.row(id))), key=lambda row: row.seeds, default=None)


def search_values(run: StudyRun) -> list[float | None]:
    """Fitness of the candidates in the search, in their order."""
    return [each.fitness for each in run.candidates]


def search_fitness(run: StudyRun, name: str) -> float | None:
    """Fitness of a reward in the search, such as `human`."""
    found = run.history.result("search", name)
    return found.fitness if found else None


def was_accepted(run: StudyRun, id: str) -> bool:
    """Whether a candidate was trained in the end."""
    found = run.history.record(id)
    return found is not None and found.verdict.accepted


def stopped_first(runs: Sequence[StudyRun]) -> dict[tuple[str, str], list[tuple[StudyRun, str]]]:
    """The candidates of language models whose first version a gate stopped, by gate and detector."""
    found: dict[tuple[str, str], list[tuple[StudyRun, str]]] = {}
    for run in runs:
        for (id, repairs), verdict in run.history.reviewed.items():
            if run.way != "built-in" and not repairs and verdict.rejections:
                first = verdict.rejections[0]
                found.setdefault((first.gate, first.detector), []).append((run, id))
    return found
