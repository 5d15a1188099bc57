"""The readable files of a run folder: a folder per candidate, `best/`, and the run's `README.md`.

All of it is derived from the event log and can be written again at any time.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from contextlib import suppress

from rewardgen.core.config import options_text
from rewardgen.core.files import read_plain, write_atomic
from rewardgen.core.formatting import number, percent_interval
from rewardgen.store.analysis_text import analysis_text, outcomes_text
from rewardgen.store.history import FinalRow, History
from rewardgen.store.records import BASELINES, CandidateRecord
from rewardgen.store.run_folder import RunFolder

MOST_POLICY_BYTES = 64 << 20
"""Largest file of a policy."""


def write_candidate(folder: RunFolder, record: CandidateRecord) -> None:
    """Write what is known of a candidate: `reward.py`, `record.json`, `verdict.md`, `analysis.md`.

    Args:
        folder: The run's folder.
        record: The candidate.
    """
    place = folder.candidate(record.candidate.id)
    write_atomic(place / "record.json", record.model_dump_json(indent=1))
    if record.candidate.source:
        write_atomic(place / "reward.py", record.candidate.source)
    write_atomic(place / "verdict.md", _verdict_text(record))
    if record.analysis:
        write_atomic(place / "analysis.md", _analysis_text(record))


def _verdict_text(record: CandidateRecord) -> str:
    state = "accepted" if record.verdict.accepted else "rejected"
    lines = [f"# {record.candidate.id}: {state}", ""]
    for finding in record.verdict.findings:
        where = f" (line {finding.line})" if finding.line else ""
        lines.append(f"- **{finding.severity}** `{finding.detector}`{where}: {finding.message}")
        lines += [f"  hint: {finding.hint}"] if finding.hint else []
    return "\n".join(lines) + "\n"


def _analysis_text(record: CandidateRecord) -> str:
    analysis = record.analysis
    assert analysis is not None
    parts = [f"# {record.candidate.id}", "```text", analysis_text(record), "```"]
    parts += [f"- `{flag.detector}`: {flag.message}" for flag in analysis.flags]
    if analysis.predictions:
        parts += ["", f"Predicted: {' '.join(record.candidate.prediction.split())}"]
        parts += [f"Measured: {outcomes_text(analysis.predictions)}"]
    parts += ["", analysis.diagnosis] if analysis.diagnosis else []
    return "\n".join(parts) + "\n"


MEASURED = (
    "The fitness of a seed is the mean over its last two checkpoints; a policy that is kept is the last one, so what it"
    " does by itself may be a little more or less: `rewardgen eval` measures it."
)


def write_best(
    folder: RunFolder, history: History, reward_file: Callable[[str], str] = str, policy_loader: str = ""
) -> None:
    """Write `best/`: the chosen reward, the policy of its best fresh seed, and a card that says what they reached.

    Args:
        folder: The run's.
        history: What is known of it.
        reward_file: From a reward's source to what is handed out of it: `rewardgen.reward.export`.
        policy_loader: A Python file that loads the policy; empty if there is none.
    """
    summary = history.summary
    record = history.record(summary.chosen) if summary and summary.chosen else None
    if summary is None or record is None:
        return
    write_atomic(folder.best / "reward.py", reward_file(record.candidate.source))
    result = history.result("final", record.candidate.id)
    slices = [each for each in (result.slices if result else ()) if each.policy and each.final_fitness is not None]
    if result and (best := result.best):
        with suppress(OSError):  # a user may have removed the policies of a finished run
            content = read_plain(folder.policies / "final" / str(best.policy), MOST_POLICY_BYTES)
            write_atomic(folder.best / "policy.npz", content)
    seeds, policy = [each.seed for each in slices], (folder.best / "policy.npz").exists()
    loads = policy and bool(policy_loader)
    if loads:
        write_atomic(folder.best / "policy.py", policy_loader)
    write_atomic(folder.best / "card.md", _best_card(history, record, seeds, policy, loads))


def _best_card(history: History, record: CandidateRecord, seeds: Sequence[int], policy: bool, loads: bool) -> str:
    summary, card = history.summary, history.card
    assert summary is not None and card is not None
    return "\n".join(
        [
            f"# A reward for {card.name}",
            "",
            card.description,
            "",
            *([f"**{history.judgement.text}**", ""] if history.judgement else []),
            f"**Result.** {summary.conclusion}",
            "",
            *_table(summary.rows, summary.chosen),
            "",
            f"- Run `{history.run_id}`, candidate `{record.candidate.id}`, operator `{record.candidate.operator}`"
            + (f", from {', '.join(record.candidate.parents)}" if record.candidate.parents else ""),
            f"- Trained on the fresh seeds {', '.join(map(str, seeds))}"
            + ("; `policy.npz` is the best of these policies." if policy else "; their policies are gone."),
            f"- {MEASURED}",
            "- `reward.py` is the reward: a pure function of the task's variables that returns weighted components.",
            "",
            "## How to use it",
            "",
            "In this folder, without rewardgen:",
            "",
            "```python",
            "from reward import INPUTS, compute_reward, reward_and_components  # needs torch",
            "",
            "reward, components = reward_and_components(inputs)  # a dict: INPUTS to tensors (N,) or (N, k)",
            *(["```", "", "```python", "from policy import load  # needs numpy", ""] if loads else []),
            *(["action = load().act(observation)  # actuator units, within their range"] if loads else []),
            "```",
            "",
            *(["The entries of an observation:", "", card.observation, ""] if loads and card.observation else []),
            "`rewardgen export` makes an environment, a Stable-Baselines3 or ONNX policy and more of it.",
            "",
        ]
    )


def write_readme(folder: RunFolder, history: History) -> None:
    """Write the run's `README.md` for a human reader."""
    card, config, summary = history.card, history.config, history.summary
    assert card is not None and config is not None
    lines = [f"# Run {history.run_id}", "", f"Task **{card.name}**: {card.description}", ""]
    lines += [f"Fitness: {card.fitness}", "", f"Success: {card.success}", ""]
    lines += [f"Goal: {config.goal}", ""] if config.goal else []
    options = options_text(config)
    lines += [f"Model: `{config.model}`." + (f" Options: `{options}`." if options else ""), ""]
    lines += [f"- {history.goal_check.text}", ""] if history.goal_check else []
    lines += [f"- {history.doubt}", ""] if history.doubt and not history.raised else []
    lines += [*(f"- {each}" for each in history.changes), ""] if history.changes else []
    if history.feedback:
        told = (f"- for g{each.generation:02d} and later: {' '.join(each.text.split())}" for each in history.feedback)
        lines += ["Feedback:", "", *told, ""]
    if summary is None:
        lines += [f"Not finished ({history.status}). `rewardgen resume {history.run_id}` goes on."]
    else:
        lines += [f"**{history.judgement.text}**", ""] if history.judgement else []
        lines += [summary.conclusion, "", *(_table(summary.rows, summary.chosen) if summary.rows else []), ""]
        lines += [f"The search stopped: {summary.reason}."]
    for _, earlier in history.opened:
        if earlier:
            lines += ["", "## Finals before more generations were asked for", "", earlier.conclusion, ""]
            lines += _table(earlier.rows, earlier.chosen)
    head = "| candidate | operator | parents | fitness | its idea, or why it has no fitness |"
    lines += ["", "## Generations", "", head]
    lines += ["|---|---|---|---|---|", *(_line(record) for id in history.ids() if (record := history.record(id)))]
    asked = history.goal_check or history.judgement
    lines += [
        "",
        "## What is here",
        "",
        *(["- `best/`: the chosen reward, its policy, and a card"] if summary and summary.chosen else []),
        "- `report.html`: all of it to look at, in a browser",
        "- `candidates/<id>/`: each candidate's reward, verdict and analysis, and what a model was asked and replied",
        "- `policies/`: what was trained, of the search and of the finals",
        *(["- `goal/`: what a model was asked about the goal and the result"] if asked else []),
        "- `events.jsonl`: everything that happened, the source of all other files",
        "- `run.toml`, `provenance.json`, `card.json`: configuration, versions, the task as the designer saw it",
    ]
    write_atomic(folder.readme, "\n".join(lines) + "\n")


def _line(record: CandidateRecord) -> str:
    """A candidate in the table of generations."""
    candidate, stops = record.candidate, record.result.stops if record.result else ()
    text = record.outcome or (stops[0].message if stops else candidate.diagnosis.split("\n")[0])
    became = textwrap.shorten(text.replace("|", "/"), 200, placeholder=" ...")
    fitness = "" if record.fitness is None else number(record.fitness)
    return f"| {candidate.id} | {candidate.operator} | {', '.join(candidate.parents)} | {fitness} | {became} |"


def _table(rows: Sequence[FinalRow], chosen: str | None) -> list[str]:
    """The closing table."""
    lines = [
        "| reward | fitness (IQM) [95 % interval] | success rate [95 % interval] | human-normalised | seeds |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        name = f"**{row.candidate_id}** (chosen)" if row.candidate_id == chosen else row.candidate_id
        if row.fitness is None:
            lines.append(f"| {name} | failed: {row.failure} | | | {row.seeds} |")
            continue
        fitness = number(row.fitness.value)
        if row.seeds > 1:
            fitness += f" [{number(row.fitness.low)}, {number(row.fitness.high)}]"
        shown = row.human_normalised is not None and row.candidate_id not in BASELINES
        normalised = f"{row.human_normalised:.2f}" if shown else ""
        lines.append(f"| {name} | {fitness} | {percent_interval(row.success_interval)} | {normalised} | {row.seeds} |")
    return lines
