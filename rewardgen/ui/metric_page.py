"""A drafted task as a person reads it before anything is trained: words, code, sketches, questions."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.syntax import Syntax
from rich.text import Text

from rewardgen.core.formatting import number
from rewardgen.tasks.draft.drafting import DraftedTask
from rewardgen.tasks.draft.sketches import AuthorVerdict, MetricTest, SketchResult
from rewardgen.ui.show import CODE_THEME, section
from rewardgen.ui.tables import plain_table

_STYLES = {"right": "green", "cheat": "red", "partial": "yellow", "nothing": "dim"}


def draft_page(drafted: DraftedTask, formatted: bool) -> RenderableType:
    """All of a drafted task, uncut: a person confirms what is read here.

    Args:
        drafted: The task.
        formatted: True to colour the code.
    """
    code = Syntax(drafted.source, "python", theme=CODE_THEME, word_wrap=True) if formatted else Text(drafted.source)
    parts = [Text(drafted.description), *section(drafted.task, code), *section("Sketches", trial_page(drafted.trial))]
    questions = dict.fromkeys((drafted.questions, *drafted.trial.questions))
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
        parts += [_author_line(index, verdict), _table(results)]
    return Group(*parts, _verdict_text(trial))


def _author_line(index: int, verdict: AuthorVerdict) -> Text:
    agrees = ("agrees", "green") if verdict.agrees else ("disagrees", "red")
    is_number = verdict.agreement == verdict.agreement
    correlation = f", rank correlation {verdict.agreement:.2f}" if is_number else ""
    return Text.assemble(f"author {index} ", agrees, correlation)


def _table(results: Sequence[SketchResult]) -> RenderableType:
    table = plain_table("kind", "fitness", "success", "sketch", right=("fitness",))
    for result in sorted(results, key=lambda result: result.rank):
        success = "yes" if result.success else "no"
        table.add_row(Text(result.kind, _STYLES[result.kind]), number(result.fitness), success, result.name)
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
