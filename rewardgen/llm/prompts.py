"""Renders the prompts for language models from the templates in `prompts/`.

A template is named by its path without the ending: `designer/system`. Its first line is a comment with its version. The
messages are the same for the same records, so that an archived call is found again. `with using_prompts(folder)` has a
user's own templates in place of the shipped ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, TemplateError, meta

from rewardgen.core.errors import UsageError, did_you_mean
from rewardgen.core.formatting import named, number, percent, shares, thousands
from rewardgen.llm.analysis_text import analysis_text, outcomes_text
from rewardgen.llm.templates import ENDING, Templates, environment, memory_limit, shipped_templates, unknown, with_own
from rewardgen.store.measurements import Range
from rewardgen.store.messages import Message
from rewardgen.store.records import (
    Candidate,
    CandidateRecord,
    DesignRequest,
    Finding,
    TaskCard,
    VariableCard,
)

SETTLED_BY_TRAINING = ("dead-component", "constant-component", "dominant-component", "reward-scale")
"""Warnings on what recorded transitions show of components; the states that training visits say more."""

UNCHECKED = ("no-reading", "not-read", "not-compared", "not-ranked")
"""Warnings that a check could not be made. They are for the user: a designer would look for a fault in its reward."""

_MOST_CHARACTERS = 4_000_000
"""Of a prompt: more than any model reads."""
_WORDS = re.compile(r"[A-Za-z_]\w*")
_VERSION = re.compile(r"\{# version (\d+)\b")

_IN_USE: ContextVar[Templates | None] = ContextVar("templates", default=None)


@contextmanager
def using_prompts(folder: Path | None) -> Iterator[Templates]:
    """Render the user's own templates where there are such.

    Args:
        folder: Where they are; None for the shipped ones.

    Raises:
        UsageError: There is no such folder, or a template in it is of no use, broken, or needs what it is not given.
    """
    templates = own_prompts(folder) if folder is not None else shipped_templates()
    token = _IN_USE.set(templates)
    try:
        yield templates
    finally:
        _IN_USE.reset(token)


def own_prompts(folder: Path) -> Templates:
    """The templates with a user's in place of the shipped ones, checked.

    Raises:
        UsageError: As for `using_prompts`.
    """
    templates, known = with_own(folder), shipped_templates()
    used = {name for each in templates.sources if each in known.sources for name in _included(templates, each)}
    for name in sorted(templates.own):
        if name not in known.sources and name not in used:
            hint = f"nothing asks for it; {did_you_mean(name, known.sources)}"
            raise UsageError(f"{templates.file(name)} is in no prompt's place, and in none included", hint)
    for name in sorted(known.sources):
        for variable in sorted(_variables(templates, name) - _variables(known, name)):
            raise UsageError(
                f"the prompt `{name}` in {folder} uses `{variable}`, which it is not given",
                did_you_mean(variable, _variables(known, name)),
            )
    return templates


def templates_in_use() -> Templates:
    """The templates that are rendered now: see `using_prompts`."""
    return _IN_USE.get() or shipped_templates()


def render(template: str, **values: Any) -> str:
    """The text of a template.

    Args:
        template: Its name, such as `designer/draft`.
        **values: Exactly the variables that it and what it includes use.

    Raises:
        UsageError: There is no such template, or a variable is missing or unknown to it.
    """
    templates = templates_in_use()
    wanted = _variables(templates, template)
    for name in sorted(wanted - values.keys()):
        raise UsageError(f"the prompt `{template}` needs the variable `{name}`", f"pass `{name}` to it")
    for name in sorted(values.keys() - wanted if not templates.own else ()):  # a user's may leave out what it likes
        raise UsageError(f"the prompt `{template}` has no variable `{name}`", did_you_mean(name, wanted))
    try:
        with memory_limit(templates):
            text = _environment(templates).get_template(template + ENDING).render(values).strip() + "\n"
            if len(text) > _MOST_CHARACTERS:
                raise ValueError(f"it has more than {_MOST_CHARACTERS:,} characters")
            return text
    except (TemplateError, TypeError, ValueError, ArithmeticError, RecursionError, MemoryError) as error:
        what = f"the prompt `{template}` cannot be rendered: {_told(error)}"
        raise UsageError(what, f"fix {templates.file(template)}, or what it includes") from error


def template_versions() -> dict[str, int]:
    """Version of every template in use by its name, for a run's provenance; 0 of a user's own that tells none.

    Raises:
        UsageError: A template does not begin with its version.
    """
    templates = templates_in_use()
    return {name: _version(templates, name) for name in sorted(templates.sources)}


def designer_messages(design_request: DesignRequest) -> tuple[Message, ...]:
    """What a designer model is asked for a new candidate: the stable part first, the request last.

    Args:
        design_request: The task card, the operator, its parents, and what failed before.
    """
    card = design_request.card
    ends, wanted = bool(card.termination_causes), card.ends_wanted
    facts = {"ends": ends, "ends_badly": ends and not wanted, "success_ends": card.success_terminates}
    system = Message(role="system", content=render("designer/system", **facts))
    return (system, Message(role="user", content=_design_request(design_request)))


def _design_request(design_request: DesignRequest) -> str:
    common = {
        "card": design_request.card,
        "goal": design_request.goal,
        "failed_ideas": design_request.failed_ideas,
        "feedback": design_request.feedback,
        "lens": design_request.lens,
        "bars": design_request.bars,
    }
    if design_request.operator == "draft" or not design_request.parents:
        return render("designer/draft", **common, reached={})
    parents = design_request.parents
    claims = [each for parent in parents if parent.analysis for each in parent.analysis.predictions]
    return render(
        "designer/mutate",
        **common,
        leading_ideas=design_request.leading_ideas,
        parents=parents,
        best=design_request.best,
        reached=_reached(parents[0]),
        failed=any(each.outcome == "failed" for each in claims),
        request=render(f"designer/operators/{design_request.operator}").strip(),
    )


def _reached(record: CandidateRecord) -> dict[str, tuple[Range, ...]]:
    """Ranges of the variables under the final policies of a candidate: the widest over its seeds."""
    found = [each.ranges for each in record.result.slices if each.ranges] if record.result else []
    widest = {}
    for name in found[0] if found else ():
        parts = zip(*(each[name] for each in found if name in each), strict=False)
        widest[name] = tuple((min(p[0] for p in part), part[0][1], max(p[2] for p in part)) for part in parts)
    return widest


def repair_messages(
    design_request: DesignRequest, candidate: Candidate, findings: Sequence[Finding]
) -> tuple[Message, ...]:
    """The thread that led to a candidate, with what is wrong with it as the next message.

    Args:
        design_request: What the candidate was designed from.
        candidate: The rejected version.
        findings: Why it was rejected, and what else the critic warns of.
    """
    reply = f"DIAGNOSIS: {candidate.diagnosis}\nPREDICTION: {candidate.prediction}\n" + _fenced(
        candidate.source.strip(), "python"
    )
    names = [name for name in design_request.card.input_names() if not name.startswith("prev_")]
    request = render(
        "designer/repair",
        rejections=[finding for finding in findings if finding.severity == "reject"],
        warnings=_warnings(findings),
        lines=candidate.source.splitlines(),
        inputs=tuple(names),
    )
    return (
        *designer_messages(design_request),
        Message(role="assistant", content=reply),
        Message(role="user", content=request),
    )


def critic_messages(
    candidate: Candidate, card: TaskCard, goal: str, findings: Sequence[Finding]
) -> tuple[Message, ...]:
    """What a model is asked for the reading of a candidate that passed the mechanical checks.

    Args:
        candidate: The candidate.
        card: The task.
        goal: The user's own words for what the robot should do.
        findings: What the mechanical checks warn of.
    """
    lines = candidate.source.strip().splitlines()
    request = render(
        "critic/review", card=card, goal=goal, reached={}, candidate=candidate, lines=lines, warnings=findings
    )
    return (Message(role="system", content=render("critic/system")), Message(role="user", content=request))


def analyzer_messages(record: CandidateRecord, card: TaskCard) -> tuple[Message, ...]:
    """What a model is asked for the written diagnosis of a trained candidate.

    Args:
        record: The candidate with its result and its analysis.
        card: The task.
    """
    shown = record.analysis.episodes if record.analysis else ()
    read = {name.removeprefix("prev_") for name in _WORDS.findall(record.candidate.source)}
    read |= {row.partition(" ")[0].strip("|") for each in shown for row in (*each.variables, *each.stays)}
    used = [each for each in card.variables if each.name in read]
    unused = [each.name for each in card.variables if each not in used]
    request = render("analyzer/diagnosis", card=card, record=record, used=used, unused=unused)
    return (Message(role="system", content=render("analyzer/system")), Message(role="user", content=request))


def goal_messages(card: TaskCard, goal: str) -> tuple[Message, ...]:
    """What a model is asked before a run whose user has a goal for a task with its own fitness.

    Args:
        card: The task.
        goal: The user's own words for what the robot should do.
    """
    request = render("task/goal_check", card=card, goal=goal, reached={})
    return (Message(role="system", content=render("task/goal_check_system")), Message(role="user", content=request))


def verdict_messages(card: TaskCard, goal: str, feedback: Sequence[str], episodes: str) -> tuple[Message, ...]:
    """What a model is asked about the policy that came of a run.

    Args:
        card: The task.
        goal: The user's own words for what the robot should do; empty if the task's description is all that was said.
        feedback: What they said of earlier results, newest last.
        episodes: What the policy does, as text.
    """
    request = render("task/verdict", card=card, goal=goal, reached={}, feedback=feedback, episodes=episodes)
    return (Message(role="system", content=render("task/verdict_system")), Message(role="user", content=request))


# Templates.


@cache
def _environment(templates: Templates) -> Environment:
    return environment(templates, _FILTERS)


@cache
def _tree(templates: Templates, name: str) -> Any:
    """A template, parsed.

    Raises:
        UsageError: There is none of this name, or it is broken.
    """
    if name not in templates.sources:
        raise unknown(name, templates)
    made = _environment(templates)
    try:
        with memory_limit(templates):
            made.compile(templates.sources[name])  # which finds filters that do not exist
            return made.parse(templates.sources[name])
    except (TemplateError, SyntaxError, RecursionError, MemoryError) as error:
        line = f" at line {error.lineno}" if getattr(error, "lineno", None) else ""  # type: ignore[attr-defined]
        raise UsageError(
            f"the prompt `{name}` is broken{line}: {_told(error)}", f"fix {templates.file(name)}"
        ) from error


def _told(error: Exception) -> str:
    return str(error) or ("it takes too much memory" if isinstance(error, MemoryError) else type(error).__name__)


@cache
def _included(templates: Templates, name: str) -> frozenset[str]:
    """Names of all templates that one includes, at any depth."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for each in meta.find_referenced_templates(_tree(templates, waiting.pop())):
            short = (each or "").removesuffix(ENDING)
            if short and short not in found:
                found.add(short)
                waiting.append(short)
    return frozenset(found)


@cache
def _variables(templates: Templates, name: str) -> frozenset[str]:
    """Names that a template and what it includes take from outside."""
    names = (name, *_included(templates, name))
    return frozenset().union(*(meta.find_undeclared_variables(_tree(templates, each)) for each in names))


def _version(templates: Templates, name: str) -> int:
    found = _VERSION.match(templates.sources[name])
    if not found and name in templates.own:
        return 0
    if not found:
        raise UsageError(
            f"the prompt `{name}` does not begin with its version",
            f"begin {templates.file(name)} with {{# version 1 #}}",
        )
    return int(found.group(1))


# Filters.


def standing(record: CandidateRecord) -> str:
    """What a candidate reached, in a line."""
    result = record.result
    if result is None or result.fitness is None:
        return f"failed: {record.outcome}" if record.outcome else "not trained"
    seeds = len(result.slices)
    values = ", ".join(number(each.final_fitness) for each in result.slices if each.final_fitness is not None)
    spread = f" (by seed: {values})" if seeds > 1 else " with one seed"
    rate = "" if result.success_rate is None else f", success {percent(result.success_rate)}"
    delta = record.analysis.fitness_delta if record.analysis else None
    change = "" if delta is None else f", {'+' if delta >= 0 else ''}{number(delta)} against its parent"
    return f"fitness {number(result.fitness)}{spread}{rate}{change}"


def open_warnings(record: CandidateRecord) -> tuple[Finding, ...]:
    """The critic's warnings on a candidate that its training has neither settled nor told of again.

    A component of which a warning says that it hardly counts is settled once training shows no such fault in it; one
    that training found a fault in has that fault as a flag, with better numbers.
    """
    warnings = _warnings(record.verdict.findings)
    if record.analysis is None or record.fitness is None:
        return warnings
    flagged = {flag.component for flag in record.analysis.flags if flag.component}
    settled = [each for each in warnings if each.detector in SETTLED_BY_TRAINING or each.component in flagged]
    return tuple(each for each in warnings if each not in settled)


def _warnings(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    return tuple(each for each in findings if each.severity == "warn" and each.detector not in UNCHECKED)


def _batched(shape: tuple[int, ...]) -> str:
    return f"(N, {', '.join(map(str, shape))})" if shape else "(N,)"


def _triples(parts: Sequence[str], *columns: Sequence[float]) -> str:
    rows = [" / ".join(number(value) for value in row) for row in zip(*columns, strict=False)]
    if not parts:
        return rows[0] if rows else "not measured"
    named = [f"{name} {row}" for name, row in zip(parts, rows, strict=False)] or list(parts)
    return "; ".join(named)


def _values(values: Sequence[float]) -> str:
    told = ", ".join(map(number, values))
    return told if len(values) == 1 else f"[{told}]"


def _ranges(variable: VariableCard) -> str:
    return _triples(variable.parts, variable.minimum, variable.median, variable.maximum)


def _bounds(variable: VariableCard, reached: Mapping[str, Sequence[Range]]) -> str:
    """Lowest and highest value of each part that trained policies reach, but for a few."""
    ranges = reached.get(variable.name, ())
    lows, highs = ([float(f"{round(each[end], 5):.2g}") for each in ranges] for end in (0, 2))
    return _triples(variable.parts, lows, highs)


def _action_ranges(card: TaskCard) -> str:
    if len(set(zip(card.action_low, card.action_high, strict=True))) == 1:
        bounds = f"each {number(card.action_low[0])} to {number(card.action_high[0])}"
        return f"{', '.join(card.action_parts)}; {bounds}" if card.action_parts else bounds
    each = zip(card.action_parts, card.action_low, card.action_high, strict=True)
    return "; ".join(f"{name} {number(low)} to {number(high)}" for name, low, high in each)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _fenced(text: str, language: str = "") -> str:
    """A block of code whose fence is longer than any in it, so that nothing in it can end it."""
    fence = _ticks(text, 3)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _code(text: str) -> str:
    """Code within a line."""
    ticks = _ticks(text, 1)
    return f"{ticks}{text}{ticks}" if len(ticks) == 1 else f"{ticks} {text} {ticks}"


def _ticks(text: str, least: int) -> str:
    return "`" * max([least, *(1 + len(run) for run in re.findall("`+", text) if len(run) >= least)])


def _quoted(text: str) -> str:
    """Somebody else's words, marked in every line, so that they cannot pass for ours."""
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def _cell(text: str) -> str:
    return _one_line(text).replace("|", "/")


_FILTERS: dict[str, Any] = {
    "num": number,
    "percent": percent,
    "shares": shares,
    "named": named,
    "standing": standing,
    "bounds": _bounds,
    "thousands": thousands,
    "evidence": analysis_text,
    "outcomes": outcomes_text,
    "open_warnings": open_warnings,
    "at_start": lambda entry: _values(entry.start),
    "reached": lambda entry: _triples(entry.parts, entry.minimum, entry.maximum),
    "values": lambda values: _values(values),
    "batched": _batched,
    "ranges": _ranges,
    "action_ranges": _action_ranges,
    "one_line": _one_line,
    "fenced": _fenced,
    "code": _code,
    "quoted": _quoted,
    "cell": _cell,
}
