"""`runs show`, `runs compare` and `tasks show`: runs, candidates and task cards."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.syntax import Syntax
from rich.text import Text

from rewardgen.core.config import options_text
from rewardgen.core.formatting import duration, number, percent, with_spread
from rewardgen.critic.sandboxed import Comparison
from rewardgen.llm.analysis_text import analysis_text, parts_lines
from rewardgen.llm.prompts import render
from rewardgen.store.history import History
from rewardgen.store.records import CandidateRecord, CandidateResult, Finding, TaskCard
from rewardgen.ui.tables import RowsTable, closing_table, judgement_text, plain_table, row_line
from rewardgen.view.facts import DISTANCE_SCALE, NO_DISTANCE, CandidateFacts, RunFacts, distance_text, names_of, table
from rewardgen.view.lineage import lineage, parent_diffs, unified_diff
from rewardgen.view.progress import stage, view
from rewardgen.view.rows import failure_text, final_rows, search_rows

CODE_THEME = "ansi_dark"


def run_page(history: History, status: str) -> RenderableType:
    """A whole run: goal, candidates, closing table."""
    shown = view(history, {})
    head = Text.assemble("run ", (shown.run_id, "bold"), " · ", (shown.task, "bold"), " · ", shown.model)
    head.append(f"\n{status} · {duration(shown.elapsed_s)}")
    head.append(f" · {shown.usage}" if shown.usage else "")
    head.append(f" · {stage(history)}" if history.summary is None else "")
    if history.config and (options := options_text(history.config)):
        head.append(f"\noptions: {options}", "dim")
    if history.config and history.config.goal:
        head.append(f"\ngoal: {history.config.goal}")
    if history.goal_check:
        head.append(f"\n{history.goal_check.text}", "yellow" if history.goal_check.is_objection else "")
    doubts = [history.steps_doubt] if history.steps_doubt else []
    for text in doubts + history.changes:
        head.append(f"\n{text}", "yellow")
    for remark in history.feedback:
        head.append(f"\nfeedback, for g{remark.generation:02d} and later: {' '.join(remark.text.split())}")
    if history.judgement:
        head.append("\n").append_text(judgement_text(history.judgement))
    parts: list[RenderableType] = [head, Text(), RowsTable(search_rows(history, history.ids(), {}))]
    if history.summary:
        parts += section("Finals", closing_table(history.summary))
        if chosen := history.summary.chosen:
            parts += section(f"Lineage of {chosen}", _lineage(history, chosen))
    elif history.finalists:
        parts += section("Finals", RowsTable(final_rows(history, {})))
    for _, earlier in history.earlier_finals:
        parts += section("Earlier finals", closing_table(earlier)) if earlier else []
    if history.error:
        parts += section("Error", Text(f"{history.error}\nhint: {history.hint}"))
    return Group(*parts)


def _lineage(history: History, candidate_id: str) -> Text:
    lines = []
    for ancestor in lineage(history, candidate_id):
        origin = f" of {' and '.join(ancestor.parents)}" if ancestor.parents else ""
        arrow = "" if ancestor.depth == 0 else "  " * (ancestor.depth - 1) + "└ "
        fitness = "no fitness" if ancestor.fitness is None else f"fitness {number(ancestor.fitness)}"
        lines.append(Text.assemble(arrow, (ancestor.id, "bold"), f" {ancestor.operator}{origin}, {fitness}"))
    return Text("\n").join(lines)


def candidate_page(history: History, record: CandidateRecord) -> RenderableType:
    """One candidate: result, origin, findings, code, and the change from its parent."""
    candidate = record.candidate
    row = search_rows(history, [candidate.id], {})[0]
    parts: list[RenderableType] = [row_line(row._replace(reason=""))]
    if row.has_ended_badly and record.verdict.accepted:
        parts += section(row.status.capitalize(), Text(row.reason))
    for name, text in (("Idea", candidate.diagnosis), ("Prediction", candidate.prediction)):
        parts += section(name, Text(text.strip())) if text else []
    parts += section("Lineage", _lineage(history, candidate.id)) if candidate.parents else []
    parts += _review(history, record)
    parts += _trainings(history, candidate.id)
    parts += _analysis(record)
    parts += section("Reward", reward_code(candidate.source)) if candidate.source else []
    for parent, diff in parent_diffs(history, record)[:1]:
        parts += section(f"Change from {parent}", diff_code(diff)) if diff else []
    return Group(*parts)


def baseline_page(history: History, name: str) -> RenderableType:
    """One of the task's own rewards: results and code."""
    rows = [row for row in final_rows(history, {}) if row.id == name]
    parts = [*map(row_line, rows), *_trainings(history, name)]
    return Group(*parts, *section("Reward", reward_code(history.baselines[name])))


def reward_code(source: str) -> Syntax:
    """Python with highlighting and the line numbers that findings name."""
    return Syntax(
        source.rstrip(), "python", theme=CODE_THEME, line_numbers=True, word_wrap=True, background_color="default"
    )


def findings_text(findings: Sequence[Finding]) -> Text:
    """Findings of the critic, each with its line and hint."""
    text = Text()
    for finding in findings:
        where = f", line {finding.line}" if finding.line else ""
        style = "red" if finding.severity == "reject" else "yellow"
        text.append(f"{finding.severity} ", style).append(f"{finding.gate}/{finding.detector}{where}: ")
        text.append(f"{finding.message}\n")
        text.append(f"  hint: {finding.hint}\n" if finding.hint else "", "dim")
    text.rstrip()
    return text


def _review(history: History, record: CandidateRecord) -> list[RenderableType]:
    """Findings on the candidate; after a repair, first those on its first version and the change."""
    id, parts = record.candidate.id, []
    if record.candidate.repairs:
        first, verdict = history.designed[id, 0], history.reviewed.get((id, 0))
        parts += section("First version, rejected", findings_text(verdict.findings if verdict else ()))
        change = unified_diff(first.source, record.candidate.source, "first version", "repaired")
        parts += section("Repair", diff_code(change))
    title = "Findings" if record.verdict.accepted else "Rejected"
    return parts + (section(title, findings_text(record.verdict.findings)) if record.verdict.findings else [])


def _trainings(history: History, id: str) -> list[RenderableType]:
    parts: list[RenderableType] = []
    for phase, name in (("search", "Training"), ("final", "Training on the fresh seeds")):
        slices = tuple(run for (of, owner, _), run in history.trained.items() if (of, owner) == (phase, id))
        parts += section(name, _slices(CandidateResult(candidate_id=id, slices=slices))) if slices else []
    return parts


def _slices(result: CandidateResult) -> RenderableType:
    columns = ("fitness", "success", "env steps", "time")
    shown = plain_table("seed", *columns, "failure or stop", right=columns)
    for run in result.slices:
        ended = failure_text(run.failure) if run.failure else run.stopped.message if run.stopped else ""
        fitness, success = number(run.final_fitness), percent(run.final_success_rate)
        shown.add_row(str(run.seed), fitness, success, str(run.env_steps), duration(run.wall_s), ended)
    if result.fitness is not None and len(result.slices) > 1:
        shown.add_row("mean", with_spread(result.fitness, result.fitness_spread), percent(result.success_rate))
    return Group(shown, *map(Text, parts_lines(result.parts)))


def _analysis(record: CandidateRecord) -> list[RenderableType]:
    """Outcomes of the prediction, then the analysis of the training."""
    analysis = record.analysis
    if analysis is None:
        return []
    styles = {"held": "green", "failed": "red", "not checkable": "dim"}
    claims = []
    for claim in analysis.predictions:
        measured = "" if claim.measured is None else f", measured {number(claim.measured)}"
        claims.append(Text.assemble(f"{claim.claim}: ", (claim.outcome, styles[claim.outcome]), measured))
    text = Text(analysis_text(record).rstrip())
    flags = [Text(f"- {flag.message} [{flag.detector}]") for flag in analysis.flags]
    diagnosis = [Text(), Text(analysis.diagnosis.strip())] if analysis.diagnosis else []
    outcomes = section("Outcome of the prediction", Group(*claims)) if claims else []
    return outcomes + section("Analysis", Group(text, *flags, *diagnosis))


def diff_code(text: str) -> Syntax:
    """A unified diff with highlighting."""
    return Syntax(text, "diff", theme=CODE_THEME, word_wrap=True, background_color="default")


def section(title: str, body: RenderableType) -> list[RenderableType]:
    """A heading with its content."""
    return [Text(f"\n{title}", "bold underline"), Padding(body, (0, 0, 0, 2), expand=False)]


def card_page(card: TaskCard, formatted: bool) -> RenderableType:
    """A task as the designer sees it, set for a terminal or as Markdown text."""
    text = render("task/card", card=card, goal="", reached={})
    return Markdown(text) if formatted else text


def comparison_page(
    facts: Sequence[RunFacts] | Sequence[CandidateFacts], sources: Sequence[str], notes: Sequence[str]
) -> RenderableType:
    """Runs or candidates side by side.

    Args:
        facts: Two or more sides.
        sources: Code of each candidate, for the changes from the first; empty for runs.
        notes: Sentences on what makes them incomparable.
    """
    names, parts = names_of(facts), list[RenderableType]()
    shown = plain_table("", *(side.id for side in facts))
    for name, texts in table(facts):
        shown.add_row(name, *texts)
    for name, source in zip(names[1:], sources[1:], strict=False):
        diff = unified_diff(sources[0], source, names[0], name)
        parts += section(f"Change from {names[0]} to {name}", diff_code(diff) if diff else Text("none"))
    return Group(shown, *(Text(f"\n{note}", "yellow") for note in notes), *parts)


def distance_page(measured: Comparison, title: str = "Rewards") -> RenderableType:
    """The distance of two rewards, and of their components."""
    first, second = measured.shares
    columns = ("in the first", "in the second", "distance")
    shown = plain_table("component", *columns, right=columns)
    for name in dict.fromkeys((*first, *second)):
        distance = measured.same_name.get(name)
        apart = "" if distance is None else f"{distance:.3f}"
        shown.add_row(name, percent(first.get(name)), percent(second.get(name)), apart)
    about = Text("Shares of each reward's variation; distances of components with the same name.", "dim")
    whole = Text(NO_DISTANCE)
    if measured.distance is not None:
        whole = Text.assemble("canonical distance ", (distance_text(measured.distance), "bold"))
        whole.append(f"  ({DISTANCE_SCALE})", "dim")
    return Group(*section(title, Group(whole, Text(), shown, about)))
