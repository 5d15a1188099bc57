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

_BARS = "▁▂▃▄▅▆▇█"
_CURVE = 16
_STYLES = {"right": "green", "cheat": "red", "partial": "yellow", "nothing": "dim"}


def draft_page(drafted: DraftedTask, formatted: bool) -> RenderableType:
    """All of a drafted task.

    Args:
        drafted: The task.
        formatted: Whether to colour its code.
    """
    # Whoever confirms it has to have seen all of it: nothing may be cut.
    code = Syntax(drafted.source, "python", theme=CODE_THEME, word_wrap=True) if formatted else Text(drafted.source)
    parts = [Text(drafted.description), *section(drafted.task, code), *section("Sketches", trial_page(drafted.trial))]
    asked = (drafted.questions, *drafted.trial.questions)
    open_questions = [each for each in dict.fromkeys(asked) if each.rstrip(".") not in ("", "None")]
    if open_questions:
        parts += section("Open questions", Text("\n".join(f"- {each}" for each in open_questions)))
    if drafted.misses:
        parts += section("What the metric does not see, by its author", Text(drafted.misses))
    return Group(*parts)


def trial_page(trial: MetricTest) -> RenderableType:
    """A metric on the sketches of all authors, and what follows.

    Args:
        trial: The trial.
    """
    shown: list[RenderableType] = []
    for index, (results, verdict) in enumerate(zip(trial.authors, trial.verdict.authors, strict=True), start=1):
        shown += [_author_line(index, verdict), _table(results)]
    return Group(*shown, _verdict_text(trial))


def _author_line(index: int, verdict: AuthorVerdict) -> Text:
    agrees = ("agrees", "green") if verdict.agrees else ("disagrees", "red")
    told = f", rank correlation {verdict.agreement:.2f}" if verdict.agreement == verdict.agreement else ""
    return Text.assemble(f"author {index} ", agrees, told)


def _table(results: Sequence[SketchResult]) -> RenderableType:
    table = plain_table("kind", "fitness", "success", "sketch", "course", right=("fitness",))
    for each in sorted(results, key=lambda one: one.rank):
        table.add_row(
            Text(each.kind, _STYLES[each.kind]),
            number(each.fitness),
            "yes" if each.success else "no",
            each.name,
            _course(each),
        )
    return table


def _course(result: SketchResult) -> Text:
    """The variable of a sketch that changes most for its size, over time."""
    # Flags tell least, unless there is nothing else.
    moving = {name: values for name, values in result.course.items() if not {*values} <= {0.0, 1.0}} or result.course
    if not moving:
        return Text("")
    name = max(moving, key=lambda each: _change(moving[each]))
    values = moving[name]
    low, span = min(values), (max(values) - min(values)) or 1.0
    picked = [values[round(at * (len(values) - 1) / (_CURVE - 1))] for at in range(_CURVE)]
    curve = "".join(_BARS[round((value - low) / span * (len(_BARS) - 1))] for value in picked)
    return Text.assemble(curve, " ", (name, "dim"), no_wrap=True)


def _change(values: Sequence[float]) -> float:
    return (max(values) - min(values)) / (max(map(abs, values)) or 1.0)


def _verdict_text(trial: MetricTest) -> Text:
    verdict = trial.verdict
    if verdict.ambiguous:
        said = ("the metric holds, but the authors do not agree on what was asked: see their questions", "yellow")
    elif verdict.passed:
        said = ("the metric holds", "green")
    else:
        said = ("the metric does not hold", "red")
    text = Text.assemble(said)
    found = [(f"author {index}: ", one.faults) for index, one in enumerate(verdict.authors, start=1)]
    for who, faults in [*found, ("", verdict.faults)]:
        for fault in faults:
            text.append(f"\n- {who}{fault}")
    for note in verdict.notes:
        text.append(f"\nnote: {note}", "dim")
    return text
