"""The readable files of a run folder: `candidates/`, `best/` and `README.md`, all derived from the event log."""

from __future__ import annotations

import json
import textwrap
from contextlib import suppress
from pathlib import Path

from rewardgen.core.config import options_text
from rewardgen.core.files import read_plain, write_atomic
from rewardgen.core.formatting import number
from rewardgen.reward.export import reward_file
from rewardgen.reward.stages import stage_names
from rewardgen.store.events import Event
from rewardgen.store.history import History, Summary
from rewardgen.store.journal import Listener
from rewardgen.store.records import CandidateRecord
from rewardgen.store.run_folder import MOST_POLICY_BYTES, RunFolder
from rewardgen.training.setup import policies_see, policy_loader
from rewardgen.view.facts import MEASURED, closing_markdown
from rewardgen.view.rows import Row, search_rows

_HERE = """
## What is here

- `best/`: the chosen reward, its policy and a card
- `report.html`: everything to look at, in a browser
- `candidates/<id>/`: each candidate's reward and record, and the prompts and replies about it
- `policies/`: trained policies of the search and of the finals
- `events.jsonl`: everything that happened; all other files are derived from it
- `run.toml`, `provenance.json`, `card.json`: configuration, versions, the task as the designer saw it"""


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
            content = read_plain(folder.policies / "final" / str(typical.policy), MOST_POLICY_BYTES)
            write_atomic(folder.best / "policy.npz", content)
            has_policy = True
    if has_policy and (loader := policy_loader(history.training)):
        write_atomic(folder.best / "policy.py", loader)
    write_atomic(folder.best / "card.md", _best_card(history, record, summary, has_policy))


def _best_card(history: History, record: CandidateRecord, summary: Summary, has_policy: bool) -> str:
    card, candidate = history.card, record.candidate
    assert card is not None
    origin = f", from {', '.join(candidate.parents)}" if candidate.parents else ""
    policy = "The policies were removed."
    if has_policy:
        which = "has the median fitness" if history.has_fitness else "is one"
        policy = f"`policy.npz` {which} of the fresh seeds.{f' {MEASURED}' if history.has_fitness else ''}"
    loads = has_policy and policy_loader(history.training)
    seen = policies_see(history.training, candidate.source)
    stage = ", stage" if stage_names(candidate.source) else ""
    act = ["", "from policy import load  # needs numpy", "action = load().act(observation)  # in actuator units"]
    lines = [
        f"# A reward for {card.name}",
        "",
        card.description,
        "",
        *([f"**{history.judgement.text}**", ""] if history.judgement else []),
        f"**Result.** {summary.conclusion}",
        "",
        *closing_markdown(summary),
        "",
        f"- Run `{history.run_id}`, candidate `{candidate.id}`, operator `{candidate.operator}`{origin}",
        f"- {policy}",
        "",
        "## How to use it",
        "",
        "In this folder, without rewardgen:",
        "",
        "```python",
        "from reward import INPUTS, reward_and_components  # needs torch",
        f"reward, components{stage} = reward_and_components(inputs{stage})  # a dict: INPUTS to tensors (N,) or (N, k)",
        *(act if loads else []),
        "```",
        "",
        *(["The entries of an observation:", "", card.observation, ""] if loads and card.observation else []),
        *([seen, ""] if loads and seen else []),
        "`rewardgen export` makes an environment and policies in other formats of it.",
    ]
    return "\n".join(lines) + "\n"


def write_readme(folder: RunFolder, history: History) -> None:
    """Write the run's `README.md`."""
    card, config, summary = history.card, history.config, history.summary
    assert card is not None and config is not None
    options = options_text(config)
    lines = [f"# Run {history.run_id}", "", f"Task **{card.name}**: {card.description}", ""]
    lines += [f"Fitness: {card.fitness}", "", f"Success: {card.success}", ""] if card.has_fitness else []
    lines += [f"Model: `{config.model}`." + (f" Options: `{options}`." if options else ""), ""]
    lines += [f"Goal: {config.goal}", ""] if config.goal else []
    lines += [*(f"- {text}" for text in _remarks(history)), ""]
    if summary is None:
        why = f": {history.error}" + f" ({history.hint})" * bool(history.hint) if history.error else ""
        lines += [f"Not finished ({history.status}{why}). `rewardgen resume {history.run_id}` continues it.", ""]
    else:
        lines += [f"**{history.judgement.text}**", ""] if history.judgement else []
        lines += [summary.conclusion, "", *closing_markdown(summary), "", f"The search stopped: {summary.reason}.", ""]
    for _, earlier in history.earlier_finals:
        if earlier:
            lines += ["## Earlier finals", "", earlier.conclusion, "", *closing_markdown(earlier), ""]
    rows = search_rows(history, history.ids(), {})
    measure = rows[0].measure if rows else "fitness"
    lines += ["## Generations", "", f"| candidate | operator | parents | {measure} | idea, or reason |"]
    lines += ["|---|---|---|--:|---|", *(_line(record, row) for row in rows if (record := history.record(row.id)))]
    here = [line for line in _HERE.split("\n") if "`best/`" not in line or (summary and summary.chosen)]
    write_atomic(folder.readme, "\n".join([*lines, *here]) + "\n")


def _remarks(history: History) -> list[str]:
    remarks = [history.goal_check.text] if history.goal_check else []
    remarks += [history.steps_doubt] if history.steps_doubt else []
    remarks += history.changes
    return remarks + [
        f"Feedback, for g{said.generation:02d} and later: {' '.join(said.text.split())}" for said in history.feedback
    ]


def _line(record: CandidateRecord, row: Row) -> str:
    candidate, stops = record.candidate, record.result.stops if record.result else ()
    idea = candidate.diagnosis.split("\n")[0]
    text = record.outcome or (stops[0].message if stops else idea)
    reason = textwrap.shorten(text.replace("|", "/"), 200, placeholder=" ...")
    parents = ", ".join(candidate.parents)
    return f"| {candidate.id} | {candidate.operator} | {parents} | {number(row.merit)} | {reason} |"
