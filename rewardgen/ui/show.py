"""Pages on the terminal: runs, candidates, comparisons, tasks, drafted tasks, suites."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isnan
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.markdown import Markdown
from rich.padding import Padding
from rich.segment import Segment
from rich.syntax import Syntax
from rich.text import Text

from rewardgen.analyzer.predictions import prediction_fault
from rewardgen.core.config import options_text
from rewardgen.core.formatting import duration, money, number, percent, tokens, with_interval, with_spread
from rewardgen.llm.analysis_text import analysis_text, parts_lines
from rewardgen.llm.prompts import render
from rewardgen.store.history import History
from rewardgen.store.records import CandidateRecord, CandidateResult, Finding, TaskCard
from rewardgen.ui.tables import RowsTable, closing_table, judgement_text, plain_table, row_line
from rewardgen.view.comparisons import told_record
from rewardgen.view.facts import (
    DISTANCE_SCALE,
    CandidateFacts,
    RunFacts,
    component_rows,
    distance_text,
    fact_rows,
    lineage,
    names_of,
    parent_diffs,
    unified_diff,
)
from rewardgen.view.progress import stage, view
from rewardgen.view.rows import failure_text, final_rows, search_rows

if TYPE_CHECKING:
    from rewardgen.critic.sandboxed import RewardPair
    from rewardgen.search.suite import SuiteRow, SuiteTable
    from rewardgen.tasks.draft.drafting import DraftedTask
    from rewardgen.tasks.draft.sketches import MetricTest, SketchResult

_CODE_THEME = "ansi_dark"
_SKETCH_STYLES = {"right": "green", "cheat": "red", "partial": "yellow", "nothing": "dim"}
_CLAIM_STYLES = {"held": "green", "failed": "red", "not checkable": "dim"}


def section(title: str, body: RenderableType) -> list[RenderableType]:
    """A heading with its content; code is indented only on a terminal."""
    return [Text(f"\n{title}", "bold underline"), body if isinstance(body, Code) else _indented(body)]


def _indented(body: RenderableType) -> Padding:
    return Padding(body, (0, 0, 0, 2), expand=False)


class Code:
    """Code in colours on a terminal, perhaps `numbered` as in findings; elsewhere its text, so that it can be run."""

    def __init__(self, text: str, language: str, numbered: bool = False) -> None:
        self._text, self._language, self._numbered = text, language, numbered

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if not console.is_terminal:
            yield Segment(self._text if self._text.endswith("\n") else f"{self._text}\n")
            return
        style: dict[str, Any] = {"theme": _CODE_THEME, "background_color": "default"}
        text = self._text.rstrip()
        yield _indented(Syntax(text, self._language, line_numbers=self._numbered, word_wrap=True, **style))


def run_page(history: History, status: str) -> RenderableType:
    """A whole run: goal, candidates, closing table."""
    now = view(history, {})
    head = Text.assemble("run ", (now.run_id, "bold"), " · ", (now.task, "bold"), " · ", now.model)
    head.append(f"\n{status} · {duration(now.elapsed_s)}")
    head.append(f" · {now.usage}" if now.usage else "")
    head.append(f" · {stage(history)}" if history.summary is None else "")
    if options := options_text(history.config):
        head.append(f"\noptions: {options}", "dim")
    if history.config.goal:
        head.append(f"\ngoal: {history.config.goal}")
    if history.goal_check:
        head.append(f"\n{history.goal_check.text}", "yellow" if history.goal_check.is_objection else "")
    for text in ([history.steps_doubt] if history.steps_doubt else []) + history.changes:
        head.append(f"\n{text}", "yellow")
    for remark in history.feedback:
        head.append(f"\nfeedback, for g{remark.generation:02d} and later: {' '.join(remark.text.split())}")
    if history.judgement:
        head.append("\n").append_text(judgement_text(history.judgement))
    parts: list[RenderableType] = [head, Text(), RowsTable(search_rows(history, history.ids(), {}), now.best_fitness)]
    if history.summary:
        parts += section("Finals", closing_table(history.summary))
        if chosen := history.summary.chosen:
            parts += section(f"Lineage of {chosen}", _lineage(history, chosen))
    elif history.finalists:
        parts += section("Finals", RowsTable(final_rows(history, {}), now.best_fitness))
    for _, earlier in history.earlier_finals:
        parts += section("Earlier finals", closing_table(earlier)) if earlier else []
    if history.error:
        parts += section("Error", Text(f"{history.error}\nhint: {history.hint}"))
    return Group(*parts)


def _lineage(history: History, candidate_id: str) -> Text:
    """A candidate and its ancestors, nearest first, each indented by the number of steps back."""
    lines = []
    for ancestor in lineage(history, candidate_id):
        origin = f" of {' and '.join(ancestor.parents)}" if ancestor.parents else ""
        words = f" {ancestor.operator}{origin}, {ancestor.outcome}"
        lines.append(Text.assemble("  " * ancestor.depth, (ancestor.id, "bold"), words))
    return Text("\n").join(lines)


def candidate_page(history: History, record: CandidateRecord) -> RenderableType:
    """One candidate: result, origin, findings, code, and the change from its first parent."""
    candidate = record.candidate
    row = search_rows(history, [candidate.id], {})[0]
    parts: list[RenderableType] = [row_line(row, "")]
    if row.has_ended_badly and record.verdict.accepted:
        parts += section(row.status.capitalize(), Text(row.reason))
    for name, text in (("Idea", candidate.diagnosis), ("Prediction", candidate.prediction)):
        parts += section(name, Text(text.strip())) if text else []
    if fault := prediction_fault(candidate.prediction):
        parts.append(Text(f"  {fault}", "yellow"))
    parts += section("Lineage", _lineage(history, candidate.id)) if candidate.parents else []
    parts += _review(history, record) + _trainings(history, candidate.id) + _analysis(told_record(history, record))
    parts += section("Reward", Code(candidate.source, "python", numbered=True)) if candidate.source else []
    for parent, diff in parent_diffs(history, record)[:1]:
        parts += section(f"Change from {parent}", Code(diff, "diff")) if diff else []
    return Group(*parts)


def baseline_page(history: History, name: str) -> RenderableType:
    """One of the task's own rewards: results and code."""
    rows = [row_line(row, row.reason) for row in search_rows(history, [name], {})]
    code = Code(history.baselines[name], "python", numbered=True)
    return Group(*rows, *_trainings(history, name), *section("Reward", code))


def findings_text(findings: Sequence[Finding]) -> Text:
    """Findings of the critic, each with its line and hint."""
    text = Text()
    for finding in findings:
        line = f", line {finding.line}" if finding.line else ""
        style = "red" if finding.severity == "reject" else "yellow"
        text.append(f"{finding.severity} ", style).append(f"{finding.gate}/{finding.detector}{line}: ")
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
        parts += section("Repair", Code(change, "diff"))
    title = "Findings" if record.verdict.accepted else "Rejected"
    return parts + (section(title, findings_text(record.verdict.findings)) if record.verdict.findings else [])


def _trainings(history: History, id: str) -> list[RenderableType]:
    parts: list[RenderableType] = []
    names = {"search": "Training", "final": "Training on the fresh seeds"}
    for phase, name in names.items():
        slices = tuple(run for (of, owner, _), run in history.trained.items() if (of, owner) == (phase, id))
        result = CandidateResult(candidate_id=id, slices=slices)
        parts += section(name, _slices(result, history.has_fitness)) if slices else []
    return parts


def _slices(result: CandidateResult, has_fitness: bool) -> RenderableType:
    columns = (*(("fitness", "success") if has_fitness else ()), "env steps", "time")
    table = plain_table("seed", *columns, "failure or stop", right=columns)
    for run in result.slices:
        ended = failure_text(run.failure) if run.failure else run.stopped.message if run.stopped else ""
        merits = (number(run.final_fitness), percent(run.final_success_rate)) if has_fitness else ()
        table.add_row(str(run.seed), *merits, str(run.env_steps), duration(run.wall_s), ended)
    if has_fitness and result.fitness is not None and len(result.slices) > 1:
        table.add_row("mean", with_spread(result.fitness, result.fitness_spread), percent(result.success_rate))
    return Group(table, *map(Text, parts_lines(result.parts)))


def _analysis(record: CandidateRecord) -> list[RenderableType]:
    """Outcomes of the prediction, then the analysis of the training."""
    analysis = record.analysis
    if analysis is None:
        return []
    claims = []
    for claim in analysis.predictions:
        measured = "" if claim.measured is None else f", measured {number(claim.measured)}"
        claims.append(Text.assemble(f"{claim.claim}: ", (claim.outcome, _CLAIM_STYLES[claim.outcome]), measured))
    flags = [Text(f"- {flag.message} [{flag.detector}]") for flag in analysis.flags]
    diagnosis = [Text(), Text(analysis.diagnosis.strip())] if analysis.diagnosis else []
    outcomes = section("Outcome of the prediction", Group(*claims)) if claims else []
    return outcomes + section("Analysis", Group(Text(analysis_text(record).rstrip()), *flags, *diagnosis))


def card_page(card: TaskCard, formatted: bool) -> RenderableType:
    """A task as the designer sees it, set for a terminal or as Markdown text."""
    text = render("task/card", card=card, goal="", reached={})
    return Markdown(text) if formatted else text


def comparison_page(
    facts: Sequence[RunFacts] | Sequence[CandidateFacts],
    sources: Sequence[str],
    notes: Sequence[str],
    differences: Sequence[str] = (),
) -> RenderableType:
    """Two or more runs or candidates side by side.

    Changes of the code of candidates are from the first; runs have no `sources`. `notes` are on differences that make
    the sides incomparable; `differences` are sentences on each side and the first.
    """
    names, parts = names_of(facts), list[RenderableType]()
    table = plain_table("", *(side.id for side in facts))
    for name, texts in fact_rows(facts):
        table.add_row(name, *texts)
    for name, source in zip(names[1:], sources[1:], strict=False):
        diff = unified_diff(sources[0], source, names[0], name)
        parts += section(f"Change from {names[0]} to {name}", Code(diff, "diff") if diff else Text("none"))
    return Group(
        table, *(Text(f"\n{each}") for each in differences), *(Text(f"\n{note}", "yellow") for note in notes), *parts
    )


def distance_page(comparison: RewardPair, title: str = "Rewards") -> RenderableType:
    """The distance of two rewards, and of their components."""
    columns = ("in the first", "in the second", "distance")
    table = plain_table("component", *columns, right=columns)
    for row in component_rows(comparison):
        table.add_row(*row)
    whole = Text(distance_text(comparison))
    if comparison.distance is not None:
        whole.append(f"  ({DISTANCE_SCALE})", "dim")
    about = Text("Shares of each reward's variation; distances of components with the same name.", "dim")
    return Group(*section(title, Group(whole, Text(), table, about)))


def draft_page(drafted: DraftedTask) -> RenderableType:
    """All of a drafted task, uncut, for the person who confirms it."""
    code = Code(drafted.source, "python")
    trial, parts = drafted.trial, [Text(drafted.description), *section(drafted.task, code)]
    parts += section("Sketches", trial_page(trial)) if trial else [Text("\nno metric: films of episodes are compared")]
    questions = dict.fromkeys((drafted.questions, *(trial.questions if trial else ())))
    questions = [text for text in questions if text.rstrip(".") not in ("", "None")]
    if questions:
        parts += section("Open questions", Text("\n".join(f"- {text}" for text in questions)))
    if drafted.misses:
        parts += section("Limits of the metric, by its author", Text(drafted.misses))
    return Group(*parts)


def trial_page(trial: MetricTest) -> RenderableType:
    """A metric on the sketches of all authors, and the verdict."""
    parts: list[RenderableType] = []
    for index, (results, verdict) in enumerate(zip(trial.authors, trial.verdict.authors, strict=True), start=1):
        agrees = ("agrees", "green") if verdict.agrees else ("disagrees", "red")
        correlation = "" if isnan(verdict.agreement) else f", rank correlation {verdict.agreement:.2f}"
        parts += [Text.assemble(f"author {index} ", agrees, correlation), _sketches(results)]
    return Group(*parts, _verdict_text(trial))


def _sketches(results: Sequence[SketchResult]) -> RenderableType:
    table = plain_table("kind", "fitness", "success", "sketch", right=("fitness",))
    for result in sorted(results, key=lambda result: result.rank):
        success = "yes" if result.success else "no"
        table.add_row(Text(result.kind, _SKETCH_STYLES[result.kind]), number(result.fitness), success, result.name)
    return table


def _verdict_text(trial: MetricTest) -> Text:
    verdict = trial.verdict
    text = Text("the metric does not hold", "red")
    if verdict.ambiguous:
        text = Text("the metric holds, but the authors disagree on the goal: see their questions", "yellow")
    elif verdict.passed:
        text = Text("the metric holds", "green")
    authors = [(f"author {index}: ", author.faults) for index, author in enumerate(verdict.authors, start=1)]
    for author, faults in [*authors, ("", verdict.faults)]:
        for fault in faults:
            text.append(f"\n- {author}{fault}", "default")
    for note in verdict.notes:
        text.append(f"\nnote: {note}", "dim")
    return text


_SUITE_LEGEND = (
    "Fitness of the winners on fresh seeds: interquartile mean over runs [95 % interval]. Normalised: from the sparse"
    " (0) to the human reward (1). Better: probability that a run beats one of the task's first row. Steps, calls,"
    " tokens, cost and minutes are means over runs; steps are of the search."
)
_SUITE_CELLS: Mapping[str, Callable[[SuiteRow], str]] = {
    "task": lambda row: row.task,
    "strategy": lambda row: row.strategy,
    "designer": lambda row: row.designer,
    "runs": lambda row: str(row.runs) if row.won == row.runs else f"{row.won} of {row.runs} won",
    "fitness": lambda row: with_interval(row.fitness),
    "normalised": lambda row: with_interval(row.human_normalised),
    "better": lambda row: with_interval(row.improvement),
    "steps": lambda row: tokens(round(steps)) if (steps := row.costs.get("search_steps")) else "",
    "calls": lambda row: tokens(round(calls)) if (calls := row.costs.get("calls")) else "",
    "tokens": lambda row: tokens(round(number)) if (number := row.costs.get("tokens")) else "",
    "cost": lambda row: money(row.costs["cost_usd"]) if row.costs.get("calls") else "",
    "minutes": lambda row: f"{minutes:.1f}" if (minutes := row.costs.get("minutes")) is not None else "",
}
_SUITE_RESULTS = ("runs", "fitness", "normalised", "better")
_SUITE_COSTS = ("steps", "calls", "tokens", "cost", "minutes")


def _suite_columns(rows: Sequence[SuiteRow]) -> dict[str, list[str]]:
    """Columns with content; the designer only where there are several."""
    columns = {name: [cell(row) for row in rows] for name, cell in _SUITE_CELLS.items()}
    one_designer = len({row.designer for row in rows if row.designer}) < 2
    return {name: cells for name, cells in columns.items() if any(cells) and not (name == "designer" and one_designer)}


def suite_page(suite: SuiteTable) -> RenderableType:
    """The table on screen: results, then costs, so that each fits 80 columns."""
    columns, tables = _suite_columns(suite.rows), list[RenderableType]()
    for hidden in (_SUITE_COSTS, _SUITE_RESULTS):
        names = [name for name in columns if name not in (*hidden, "task")]
        table = plain_table(*names, right=_SUITE_COSTS)
        for index, row in enumerate(suite.rows):
            if not index or row.task != suite.rows[index - 1].task:
                table.add_row(Text(row.task, "bold"))
            table.add_row(*(columns[name][index].replace(" [", "\n[") for name in names))
        tables += [table, Text()]
    return Group(*tables, *(Text(f"{note}\n", "yellow") for note in suite.notes), Text(_SUITE_LEGEND, "dim"))


def suite_markdown(suite: SuiteTable) -> str:
    """The table as Markdown."""
    return "\n\n".join([markdown_table(_suite_columns(suite.rows), _SUITE_COSTS), *suite.notes, _SUITE_LEGEND]) + "\n"


def markdown_table(columns: Mapping[str, Sequence[str]], numbers: Sequence[str]) -> str:
    """A table in Markdown, from headings to cells; columns of `numbers` are right-aligned."""
    rules = ["--:" if name in numbers else "---" for name in columns]
    lines = [[*columns], rules, *zip(*columns.values(), strict=True)]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)
