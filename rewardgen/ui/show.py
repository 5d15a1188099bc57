"""`runs show` and `tasks show`: a run with its candidates, a candidate with its code, origin and evidence, a task."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.syntax import Syntax
from rich.text import Text

from rewardgen.core.config import options_text
from rewardgen.core.formatting import duration, number, percent, with_spread
from rewardgen.llm.analysis_text import analysis_text, parts_lines
from rewardgen.llm.prompts import render
from rewardgen.store.history import History
from rewardgen.store.records import CandidateRecord, CandidateResult, Finding, TaskCard
from rewardgen.ui.tables import RowsTable, closing_table, judgement_text, plain_table, row_line
from rewardgen.view.lineage import lineage, parent_diff, unified_diff
from rewardgen.view.progress_view import stage, view
from rewardgen.view.rows import failure_text, final_rows, search_rows

CODE_THEME = "ansi_dark"


def run_page(history: History, status: str) -> RenderableType:
    """A whole run: what it was asked, every candidate, the closing table.

    Args:
        history: The run.
        status: Its status in words.
    """
    shown = view(history, {})
    head = Text.assemble(("run ", ""), (shown.run_id, "bold"), " · ", (shown.task, "bold"), " · ", shown.model)
    head.append(f"\n{status} · {duration(shown.elapsed_s)}")
    head.append(f" · {shown.usage}" if shown.usage else "")
    head.append(f" · {stage(history)}" if history.summary is None else "")
    if history.config and (options := options_text(history.config)):
        head.append(f"\noptions: {options}", "dim")
    if history.config and history.config.goal:
        head.append(f"\ngoal: {history.config.goal}")
    if history.goal_check:
        head.append(f"\n{history.goal_check.text}", "yellow" if history.goal_check.speaks_against else "")
    if history.doubt and not history.raised:
        head.append(f"\n{history.doubt}", "yellow")
    for each in history.changes:
        head.append(f"\n{each}", "yellow")
    for said in history.feedback:
        head.append(f"\nfeedback, for g{said.generation:02d} and later: {' '.join(said.text.split())}")
    if history.judgement:
        head.append("\n").append_text(judgement_text(history.judgement))
    parts: list[RenderableType] = [head, Text(), RowsTable(search_rows(history, history.ids(), {}))]
    if history.summary:
        parts += section("Finals", closing_table(history.summary))
        if history.summary.chosen:
            parts += section(f"How {history.summary.chosen} came about", lineage_text(history, history.summary.chosen))
    elif history.finalists:
        parts += section("Finals", RowsTable(final_rows(history, {})))
    for _, earlier in history.opened:
        parts += section("Finals before more generations were asked for", closing_table(earlier)) if earlier else []
    if history.error:
        parts += section("It failed", Text(f"{history.error}\nhint: {history.hint}"))
    return Group(*parts)


def lineage_text(history: History, candidate_id: str) -> Text:
    """A candidate's ancestors, indented by how far back they are, with the fitness of each."""
    lines = []
    for each in lineage(history, candidate_id):
        origin = f" of {' and '.join(each.parents)}" if each.parents else ""
        arrow = "" if each.depth == 0 else "  " * (each.depth - 1) + "└ "
        fitness = "no fitness" if each.fitness is None else f"fitness {number(each.fitness)}"
        lines.append(Text.assemble(arrow, (each.id, "bold"), f" {each.operator}{origin}, {fitness}"))
    return Text("\n").join(lines)


def candidate_page(history: History, record: CandidateRecord) -> RenderableType:
    """One candidate: result, origin, why it failed if it did, code, and the change from its parent."""
    candidate = record.candidate
    row = search_rows(history, [candidate.id], {})[0]
    parts: list[RenderableType] = [row_line(row._replace(reason=""))]
    if row.has_ended_badly and record.verdict.accepted:
        parts += section(f"Why it {'failed' if row.status == 'failed' else 'was rejected'}", Text(row.reason))
    for name, text in (("Idea", candidate.diagnosis), ("Prediction", candidate.prediction)):
        parts += section(name, Text(text.strip())) if text else []
    parts += section("Lineage", lineage_text(history, candidate.id)) if candidate.parents else []
    parts += _review(history, record)
    parts += _trainings(history, candidate.id)
    parts += _analysis(record)
    parts += section("Reward", reward_code(candidate.source)) if candidate.source else []
    diff = parent_diff(history, record)
    return Group(*parts, *(section(f"Change from {candidate.parents[0]}", diff_code(diff)) if diff else []))


def baseline_page(history: History, name: str) -> RenderableType:
    """One of the task's own rewards: its results and its code."""
    rows = [row for row in final_rows(history, {}) if row.id == name]
    parts = [*map(row_line, rows), *_trainings(history, name)]
    return Group(*parts, *section("Reward", reward_code(history.baselines[name])))


def reward_code(source: str) -> Syntax:
    """Python with highlighting and line numbers, the ones that findings name."""
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
    """The verdict; for a repaired candidate also what was wrong with its first version, and how it was repaired."""
    id, parts = record.candidate.id, []
    if record.candidate.repairs:
        first, verdict = history.designed[id, 0], history.reviewed.get((id, 0))
        parts += section("First version, rejected", findings_text(verdict.findings if verdict else ()))
        change = unified_diff(first.source, record.candidate.source, "first version", "repaired")
        parts += section("Repair", diff_code(change))
    findings = record.verdict.findings
    title = "Findings" if record.verdict.accepted else "Why it was rejected"
    return parts + (section(title, findings_text(findings)) if findings else [])


def _trainings(history: History, id: str) -> list[RenderableType]:
    """What came of each seed of a reward, in the search and on the fresh seeds."""
    parts: list[RenderableType] = []
    for phase, name in (("search", "Training"), ("final", "Training on the fresh seeds")):
        slices = tuple(each for (of, owner, _), each in history.trained.items() if (of, owner) == (phase, id))
        parts += section(name, _slices(CandidateResult(candidate_id=id, slices=slices))) if slices else []
    return parts


def _slices(result: CandidateResult) -> RenderableType:
    columns = ("fitness", "success", "env steps", "time")
    table = plain_table("seed", *columns, "failure or stop", right=columns)
    for each in result.slices:
        ended = failure_text(each.failure) if each.failure else each.stopped.message if each.stopped else ""
        fitness, success = number(each.final_fitness), percent(each.final_success_rate)
        table.add_row(str(each.seed), fitness, success, str(each.env_steps), duration(each.wall_s), ended)
    if result.fitness is not None and len(result.slices) > 1:
        table.add_row("mean", with_spread(result.fitness, result.fitness_spread), percent(result.success_rate))
    return Group(table, *map(Text, parts_lines(result.parts)))


def _analysis(record: CandidateRecord) -> list[RenderableType]:
    """The claims of the prediction with what was measured, whose words stand above, and what training showed."""
    analysis = record.analysis
    if analysis is None:
        return []
    styles = {"held": "green", "failed": "red", "not checkable": "dim"}
    claims = []
    for each in analysis.predictions:
        measured = "" if each.measured is None else f", measured {number(each.measured)}"
        claims.append(Text.assemble(f"{each.claim}: ", (each.outcome, styles[each.outcome]), measured))
    text = Text(analysis_text(record).rstrip())
    flags = [Text(f"- {flag.message} [{flag.detector}]") for flag in analysis.flags]
    diagnosis = [Text(), Text(analysis.diagnosis.strip())] if analysis.diagnosis else []
    told = section("What became of the prediction", Group(*claims)) if claims else []
    return told + section("Analysis", Group(text, *flags, *diagnosis))


def diff_code(text: str) -> Syntax:
    """A unified diff with highlighting."""
    return Syntax(text, "diff", theme=CODE_THEME, word_wrap=True, background_color="default")


def section(title: str, body: RenderableType) -> list[RenderableType]:
    """A heading and what stands under it."""
    return [Text(f"\n{title}", "bold underline"), Padding(body, (0, 0, 0, 2), expand=False)]


def card_page(card: TaskCard, formatted: bool) -> RenderableType:
    """A task as the designer sees it: the very text of its prompt.

    Args:
        card: The card.
        formatted: Set headings and tables for a terminal; else the Markdown text as it is.
    """
    text = render("task/card", card=card, goal="", reached={})
    return Markdown(text) if formatted else text
