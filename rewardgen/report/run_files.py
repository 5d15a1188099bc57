"""The readable files of a run folder: `candidates/`, `best/` and `README.md`, all derived from the event log."""

from __future__ import annotations

import json
import textwrap
from contextlib import suppress
from pathlib import Path

from rewardgen.core.config import options_text
from rewardgen.core.files import read_plain, write_atomic
from rewardgen.core.formatting import number
from rewardgen.report.rendering import filled
from rewardgen.reward.export import reward_file
from rewardgen.reward.stages import stage_names
from rewardgen.store.events import Event
from rewardgen.store.history import History
from rewardgen.store.journal import Listener
from rewardgen.store.records import CandidateRecord
from rewardgen.store.run_folder import MOST_POLICY_BYTES, RunFolder
from rewardgen.training.setup import policies_see, policy_loader
from rewardgen.view.facts import HEADINGS, MEASURED, closing_rows
from rewardgen.view.rows import Row, search_rows


class RunFiles:
    """A `Listener` that keeps the readable files of a run up to date, and passes everything on to another one."""

    def __init__(self, listener: Listener, runs_dir: Path) -> None:
        self._listener, self._runs_dir = listener, runs_dir
        self.progress, self.note, self.aside = listener.progress, listener.note, listener.aside

    def event(self, event: Event, history: History) -> None:
        """Write the files that an event changes."""
        folder = RunFolder(self._runs_dir / history.run_id)
        match event.kind:
            case "reviewed" | "studied":
                id = event.data["verdict" if event.kind == "reviewed" else "analysis"]["candidate_id"]
                if record := history.record(id):
                    write_candidate(folder, history, record)
            case "generation-finished" | "interrupted" | "failed":
                write_readme(folder, history)
            case "finished":
                write_run_files(folder, history)
        self._listener.event(event, history)


def write_run_files(folder: RunFolder, history: History) -> None:
    """Write `README.md` and, with a chosen reward, `best/`.

    Raises:
        RunFolderError: A file cannot be written.
        UsageError: The log names a reward that the reward language refuses.
    """
    write_readme(folder, history)
    write_best(folder, history)


def write_candidate(folder: RunFolder, history: History, record: CandidateRecord) -> None:
    """Write `reward.py` and `record.json` of a candidate."""
    place = folder.candidate(record.candidate.id)
    write_atomic(place / "record.json", json.dumps(history.told_json(record.model_dump(mode="json")), indent=1))
    if record.candidate.source:
        write_atomic(place / "reward.py", record.candidate.source)


def write_best(folder: RunFolder, history: History) -> None:
    """Write `best/`: the chosen reward, its typical policy, and a card with the results."""
    summary = history.summary
    record = history.record(summary.chosen) if summary and summary.chosen else None
    if summary is None or record is None:
        return
    write_atomic(folder.best / "reward.py", reward_file(record.candidate.source))
    result, has_policy = history.result("final", record.candidate.id), False
    if result and (typical := result.typical):
        with suppress(OSError):  # a user may have removed the policies of a finished run
            content = read_plain(folder.policies_of("final") / str(typical.policy), MOST_POLICY_BYTES)
            write_atomic(folder.best / "policy.npz", content)
            has_policy = True
    if loader := policy_loader(history.training) if has_policy else "":
        write_atomic(folder.best / "policy.py", loader)
    text = filled(
        "best.md",
        history=history,
        summary=summary,
        candidate=record.candidate,
        has_policy=has_policy,
        loads=bool(loader),
        measured=MEASURED,
        stage=", stage" if stage_names(record.candidate.source) else "",
        seen=policies_see(history.training, record.candidate.source),
        closing_rows=closing_rows,
        headings=HEADINGS,
    )
    write_atomic(folder.best / "card.md", text + "\n")


def write_readme(folder: RunFolder, history: History) -> None:
    """Write the run's `README.md`."""
    rows = search_rows(history, history.ids(), {})
    text = filled(
        "run.md",
        history=history,
        options=options_text(history.config),
        measure=rows[0].measure if rows else "fitness",
        rows=[_line(record, row) for row in rows if (record := history.record(row.id))],
        closing_rows=closing_rows,
        headings=HEADINGS,
    )
    write_atomic(folder.readme, text + "\n")


def _line(record: CandidateRecord, row: Row) -> str:
    candidate, stops = record.candidate, record.result.stops if record.result else ()
    idea = candidate.diagnosis.split("\n")[0]
    text = record.outcome or (stops[0].message if stops else idea)
    reason = textwrap.shorten(text.replace("|", "/"), 200, placeholder=" ...")
    parents = ", ".join(candidate.parents)
    return f"| {candidate.id} | {candidate.operator} | {parents} | {number(row.merit)} | {reason} |"
