"""`rewardgen runs` and `rewardgen feedback`: list, show and compare runs, and comment on one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from rewardgen.cli.output import Json, Reference, RunsDir, flag, next_steps, print_json, with_runs_dir
from rewardgen.core.config import BUILTIN
from rewardgen.core.errors import RewardgenError, UsageError
from rewardgen.core.files import write_atomic
from rewardgen.core.formatting import duration, money, number, percent
from rewardgen.core.text import one_line
from rewardgen.critic.sandboxed import RewardPair
from rewardgen.report.compare_page import compare_html
from rewardgen.report.run_files import write_readme
from rewardgen.search.inspect_rewards import compare_rewards
from rewardgen.search.requests import checked_remarks, give_feedback
from rewardgen.store.history import History, status_of
from rewardgen.store.records import CandidateRecord
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR, RunFolder, find_run, list_runs
from rewardgen.ui.console import messages, results
from rewardgen.ui.show import baseline_page, candidate_page, comparison_page, distance_page, run_page
from rewardgen.ui.tables import plain_table
from rewardgen.view.differences import UNLIKE, differences
from rewardgen.view.facts import candidate_facts, lineage, notes, parent_diffs, read_facts, run_facts
from rewardgen.view.reference import Reference as Side
from rewardgen.view.reference import find_reference, require_candidate
from rewardgen.view.rows import search_rows

_ROOMY = 120
"""Columns of a terminal that shows the whole list."""

CandidateId = Annotated[str | None, Parameter(help="Id of a candidate, or `human` or `sparse`.")]
SideName = Annotated[str, Parameter(help="A run, or `RUN:CANDIDATE`.")]
Rewards = Annotated[bool, flag("Measure the distance between the rewards.")]
Page = Annotated[Path | None, Parameter(help="Also write an HTML page with curves, differences and distances.")]
Remarks = Annotated[str, Parameter(help="Your words, in quotes.")]


def list_all(*, runs_dir: RunsDir = DEFAULT_RUNS_DIR, json: Json = False) -> int:
    """List all runs, oldest first."""
    runs = [read_facts(folder) for folder in list_runs(runs_dir)]
    if json:
        print_json({"runs": [run._asdict() for run in runs]})
        return 0
    if not runs:
        messages().print(f"there are no runs in {runs_dir}/")
        next_steps((with_runs_dir("run cartpole", runs_dir), "searches for a reward, without a language model"))
        return 0
    roomy = results().width >= _ROOMY
    right = ("fitness", "success", "candidates", "time", "cost")
    table = plain_table("run", "status", "best", *(right if roomy else right[:1]), right=right)
    table.columns[0].no_wrap = True  # ids are copied
    for run in runs:
        cells = [one_line(run.id), run.status, run.best or "", number(run.fitness)]
        more = [percent(run.success_rate), str(run.candidates), duration(run.elapsed_s), money(run.cost_usd)]
        table.add_row(*cells, *(more if roomy else []))
    results().print(table)
    next_steps((f"runs show {RunFolder(runs_dir / runs[-1].id).word}", "the newest run"))
    return 0


def show(
    ref: Reference = "latest",
    candidate: CandidateId = None,
    /,
    *,
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
    json: Json = False,
) -> int:
    """Show a run or a candidate."""
    folder, history, named = find_reference(ref, runs_dir)
    candidate = candidate or named
    if candidate is None:
        return _show_run(folder, history, json)
    if candidate in history.baselines:
        if json:
            print_json({"id": candidate, "source": history.baselines[candidate], **_trainings(history, candidate)})
        else:
            results().print(baseline_page(history, candidate))
        return 0
    require_candidate(folder, history, candidate)
    record = history.record(candidate)
    if record is None:
        raise UsageError(f"{candidate} of run {folder.id} is not designed yet", "look again later, or resume the run")
    return _show_candidate(folder, history, record, json)


def _show_run(folder: RunFolder, history: History, json: bool) -> int:
    status, rows = status_of(folder, history), search_rows(history, history.ids(), {})
    if json:
        records = {"goal_check": history.goal_check, "judgement": history.judgement, "config": history.config}
        records |= {"usage": history.usage, "summary": history.summary}
        print_json(
            {
                "run_id": folder.id,
                "path": str(folder.path),
                "status": status,
                "error": history.error or None,
                "changes": history.changes,
                "feedback": [remark.model_dump(mode="json") for remark in history.feedback],
                "elapsed_s": history.elapsed_s,
                "candidates": [row._asdict() for row in rows],
                **{name: record.model_dump(mode="json") if record else None for name, record in records.items()},
            }
        )
        return 0
    results().print(run_page(history, status))
    steps = []
    if status in ("interrupted", "failed"):
        steps.append((f"resume {folder.word}", "continues the run"))
    chosen, best = history.summary.chosen if history.summary else None, history.ranking.best
    failed = [row.id for row in rows if row.has_ended_badly]
    ids = [id for id in (chosen or (best.candidate_id if best else None), *failed[:1]) if id]
    steps += [(f"runs show {folder.word} {id}", "its code, origin and evidence") for id in ids]
    if steps:
        next_steps(*steps)
    return 0


def _show_candidate(folder: RunFolder, history: History, record: CandidateRecord, json: bool) -> int:
    id, parents = record.candidate.id, record.candidate.parents
    if json:
        data = history.told_json(record.model_dump(mode="json")) | {"outcome": record.outcome}
        data["lineage"] = [ancestor._asdict() for ancestor in lineage(history, id)]
        data["diff"] = next((diff for _, diff in parent_diffs(history, record)), "")
        print_json(data | _trainings(history, id))
        return 0
    results().print(candidate_page(history, record))
    messages().print(f"\nfiles: {folder.candidate(id)}", soft_wrap=True)
    steps = [(f"runs show {folder.word} {parent}", "its parent") for parent in parents]
    next_steps(*steps, (f"runs show {folder.word}", "the whole run"))
    return 0


def _trainings(history: History, id: str) -> dict[str, list[object]]:
    trainings: dict[str, list[object]] = {"search": [], "final": []}
    for (phase, owner, _), result in history.trained.items():
        if owner == id:
            trainings.setdefault(phase, []).append(history.told_json(result.model_dump(mode="json")))
    return trainings


def compare(
    one: SideName,
    other: SideName,
    /,
    *more: SideName,
    rewards: Rewards = False,
    page: Page = None,
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
    json: Json = False,
) -> int:
    """Compare runs or candidates with the first one."""
    sides = [find_reference(side, runs_dir) for side in (one, other, *more)]
    remarks = notes(*(side.history for side in sides))
    named = any(side.named for side in sides)
    runs = [run_facts(side.folder, side.history) for side in sides]
    candidates = [candidate_facts(side.folder.id, side.history, side.candidate) for side in sides] if named else []
    measured = [_measured(sides[0], side) for side in sides[1:]] if rewards else []
    shown = candidates or runs
    sentences = [text for text, _ in differences(sides, shown) if text != UNLIKE]  # a remark says so, too
    if page is not None:
        distances = measured or [_measured_if_possible(sides[0], side) for side in sides[1:]]
        write_atomic(page, compare_html(sides, shown, remarks, distances))
    if json:
        data = {"runs": [run._asdict() for run in runs], "notes": remarks, "page": str(page) if page else None}
        data["differences"] = sentences
        data["candidates"] = [candidate._asdict() for candidate in candidates] or None
        print_json(data | {"rewards": _distances(sides, measured)})
        return 0
    console = results()
    console.print(comparison_page(shown, [side.source for side in sides] if named else [], remarks, sentences))
    for side, comparison in zip(sides[1:], measured, strict=False):
        title = f"Rewards of {sides[0].candidate} and {side.candidate}" if more else "Rewards"
        console.print(distance_page(comparison, title))
    if page is not None:
        messages().print(f"\npage: {page}", soft_wrap=True)
    return 0


def _measured(one: Side, other: Side) -> RewardPair:
    tasks = [side.history.card.name for side in (one, other)]
    if tasks[0] != tasks[1]:
        raise UsageError(
            f"rewards for different tasks, {tasks[0]} and {tasks[1]}, have no distance",
            "compare runs of one task, or leave out `--rewards`",
        )
    return compare_rewards(one.folder, one.history, one.reward, other.reward)


def _measured_if_possible(one: Side, other: Side) -> RewardPair | str:
    """Return the distance of two rewards, or the reason why it is unknown."""
    try:
        return _measured(one, other)
    except RewardgenError as error:
        return f"Their distance was not measured: {error.message}."


def _distances(sides: Sequence[Side], measured: Sequence[RewardPair]) -> Any:
    distances = [
        {
            "of": [sides[0].reward.candidate_id, side.reward.candidate_id],
            "distance": comparison.distance,
            "components": comparison.same_name,
            "shares": comparison.shares,
        }
        for side, comparison in zip(sides[1:], measured, strict=False)
    ]
    return distances[0] if len(distances) == 1 else distances or None


def feedback(ref: Reference, /, *remarks: Remarks, runs_dir: RunsDir = DEFAULT_RUNS_DIR, json: Json = False) -> int:
    """Keep your words for the designer of the next generations."""
    text = checked_remarks(remarks)  # before the run is looked up, for users who give the words alone
    folder = find_run(ref, runs_dir)
    history = give_feedback(folder, text)
    write_readme(folder, history)
    is_over, generation = bool(history.stop_reason or history.summary), history.feedback[-1].generation
    more = " --generations 1" if is_over or generation >= history.config.generations else ""
    if history.config.model == BUILTIN:  # which reads no words
        more += " --model MODEL"
    resume = f"resume {folder.word}{more}"
    if json:
        remarks_so_far = [remark.model_dump(mode="json") for remark in history.feedback]
        print_json({"run_id": folder.id, "feedback": remarks_so_far, "resume": f"rewardgen {resume}"})
        return 0
    kept = f"kept for generation g{generation:02d} and later"
    ranks = "the answers still rank" if history.by_answers else "the task's own fitness still ranks"
    messages().print(f"{kept}; {ranks} candidates", soft_wrap=True)
    if history.config.model == BUILTIN:
        messages().print("the built-in designer reads no words: a language model does (docs/models.md)", soft_wrap=True)
    next_steps((resume, "designs with them"))
    return 0
