"""Prompts for language models, rendered from the templates in `prompts/`.

A template is named by its path without the ending: `designer/system`. Its first line is a comment with its version.
Equal records give equal messages, so that an archived call is recognised. `with using_prompts(folder)` replaces shipped
templates by a user's; Jinja's sandbox renders them all.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import DictLoader, Environment, StrictUndefined, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import BaseModel

from rewardgen.core.errors import UsageError, did_you_mean
from rewardgen.core.files import read_plain
from rewardgen.core.formatting import named, number, percent, shares, thousands
from rewardgen.core.physics import words
from rewardgen.core.resources import shipped
from rewardgen.llm.analysis_text import analysis_text, outcomes_text
from rewardgen.reward.observation import eyes_text
from rewardgen.reward.stages import stage_names
from rewardgen.store.measurements import Range
from rewardgen.store.messages import Message, Picture
from rewardgen.store.records import (
    Candidate,
    CandidateRecord,
    DesignRequest,
    Finding,
    TaskCard,
    VariableCard,
)

SETTLED_BY_TRAINING = ("dead-component", "constant-component", "dominant-component", "reward-scale")
"""Warnings on components in recorded transitions; the states of training are better evidence."""

UNCHECKED = ("no-reading", "not-read", "not-compared", "not-ranked")
"""Warnings of a check that failed. They are for the user: a designer would search its reward for a fault."""

ENDING = ".md.j2"
_MOST_BYTES = 1 << 20
"""Largest template [bytes]."""
_WORDS = re.compile(r"[A-Za-z_]\w*")
_VERSION = re.compile(r"\{# version (\d+)\b")


@dataclass(frozen=True, eq=False)
class Templates:
    """Templates by name, such as `designer/draft`.

    Attributes:
        sources: Name to text.
        own: Names of the user's templates.
        place: Folder of the user's templates.
    """

    sources: Mapping[str, str]
    own: frozenset[str] = frozenset()
    place: Path | None = None

    def file(self, name: str) -> Path:
        """Return the path of a template, which may not exist."""
        folder = self.place if self.place is not None and name in self.own else shipped("prompts")
        return folder / (name + ENDING)

    def text(self, name: str) -> str:
        """Return a template; raise a UsageError for an unknown name."""
        if name not in self.sources:
            raise UsageError(f"there is no prompt `{name}`", did_you_mean(name, self.sources))
        return self.sources[name]


_IN_USE: ContextVar[Templates | None] = ContextVar("templates", default=None)


@cache
def shipped_templates() -> Templates:
    """Return the templates of the package."""
    return Templates(_read(shipped("prompts")))


def _read(folder: Path) -> dict[str, str]:
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob(f"*{ENDING}"))}
    return {name.removesuffix(ENDING): read_plain(path, _MOST_BYTES).decode() for name, path in files.items()}


@contextmanager
def using_prompts(folder: Path | None) -> Iterator[Templates]:
    """Render the templates in a user's folder, if there is one, in place of the shipped ones.

    Raises:
        UsageError: The folder does not exist, or one of its templates is broken or replaces none.
    """
    templates = own_prompts(folder) if folder is not None else shipped_templates()
    token = _IN_USE.set(templates)
    try:
        yield templates
    finally:
        _IN_USE.reset(token)


def own_prompts(folder: Path) -> Templates:
    """Load a user's templates over the shipped ones, and check them as `using_prompts` does."""
    try:
        texts = _read(folder)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise UsageError(f"cannot read the prompts in {folder}: {reason}", "give a folder of text files") from error
    if not texts:
        eject = shlex.join(["rewardgen", "prompts", "--eject", str(folder)])
        raise UsageError(f"there is no prompt in {folder}, where files end in `{ENDING}`", f"copy some with `{eject}`")
    sources = shipped_templates().sources
    templates = Templates({**sources, **texts}, frozenset(texts), folder)
    for name in texts:
        if name not in sources:
            hint = f"rename it or delete it; {did_you_mean(name, sources)}"
            raise UsageError(f"{templates.file(name)} replaces no prompt", hint)
        try:
            _environment(templates).compile(templates.sources[name])
        except (TemplateError, SyntaxError, RecursionError) as error:
            line = getattr(error, "lineno", None) or 1
            message = f"the prompt `{name}` is broken at line {line}: {error}"
            raise UsageError(message, f"fix {templates.file(name)}") from error
    return templates


def templates_in_use() -> Templates:
    """Return the templates in use; see `using_prompts`."""
    return _IN_USE.get() or shipped_templates()


def render(template: str, **values: Any) -> str:
    """Render a template, such as `designer/draft`, with the variables of the template and its includes.

    Raises:
        UsageError: The template does not exist or cannot be rendered.
    """
    templates = templates_in_use()
    templates.text(template)
    try:
        return _environment(templates).get_template(template + ENDING).render(values).strip() + "\n"
    except (TemplateError, TypeError, ValueError, ArithmeticError, RecursionError, MemoryError) as error:
        message = f"the prompt `{template}` cannot be rendered: {error or type(error).__name__}"
        raise UsageError(message, f"fix {templates.file(template)}, or a template that it includes") from error


def template_versions() -> dict[str, int]:
    """Return the version of every template in use, for a run's provenance; 0 if its first line has none."""
    matches = {name: _VERSION.match(text) for name, text in sorted(templates_in_use().sources.items())}
    return {name: int(match[1]) if match else 0 for name, match in matches.items()}


def designer_messages(design_request: DesignRequest) -> tuple[Message, ...]:
    """Ask a designer for a new candidate: the common part of all calls first, the request last."""
    card = design_request.card
    ends, ends_well = bool(card.termination_causes), card.benign_terminations
    facts = {"ends": ends, "ends_badly": ends and not ends_well, "success_ends": card.success_terminates}
    facts |= {"stages": design_request.stages, "judged": card.judged, "unobserved": card.unobserved}
    facts["observes"] = design_request.evolve_observation
    return _pair("designer/system", _design_request(design_request), **facts)


def _design_request(design_request: DesignRequest) -> str:
    common = {
        "card": design_request.card,
        "goal": design_request.goal,
        "failed_ideas": design_request.failed_ideas,
        "feedback": design_request.feedback,
        "lens": design_request.lens,
        "bars": design_request.baselines,
    }
    if design_request.operator == "draft" or not design_request.parents:
        return render("designer/draft", **common, reached={})
    parents = design_request.parents
    claims = [claim for parent in parents if parent.analysis for claim in parent.analysis.predictions]
    return render(
        "designer/mutate",
        **common,
        leading_ideas=design_request.leading_ideas,
        parents=parents,
        best=design_request.best,
        reached=_reached(parents[0]),
        failed=any(claim.outcome == "failed" for claim in claims),
        request=render(f"designer/operators/{design_request.operator}").strip(),
    )


def _reached(record: CandidateRecord) -> dict[str, tuple[Range, ...]]:
    """Return the ranges of the variables under a candidate's final policies, the widest over its seeds."""
    measured = [part.ranges for part in record.result.slices if part.ranges] if record.result else []
    widest = {}
    for name in measured[0] if measured else ():
        parts = zip(*(ranges[name] for ranges in measured if name in ranges), strict=False)
        widest[name] = tuple((min(p[0] for p in part), part[0][1], max(p[2] for p in part)) for part in parts)
    return widest


def repair_messages(
    design_request: DesignRequest, candidate: Candidate, findings: Sequence[Finding]
) -> tuple[Message, ...]:
    """Ask for a repair: the thread that led to a candidate, then its rejections and warnings."""
    reply = f"DIAGNOSIS: {candidate.diagnosis}\nPREDICTION: {candidate.prediction}\n"
    reply += fenced(candidate.source.strip(), "python")
    names = [name for name in design_request.card.input_names() if not name.startswith("prev_")]
    request = render(
        "designer/repair",
        rejections=[finding for finding in findings if finding.severity == "reject"],
        warnings=_warnings(findings),
        lines=candidate.source.splitlines(),
        inputs=tuple(names),
    )
    answers = (Message(role="assistant", content=reply), Message(role="user", content=request))
    return (*designer_messages(design_request), *answers)


def critic_messages(
    candidate: Candidate, card: TaskCard, goal: str, findings: Sequence[Finding]
) -> tuple[Message, ...]:
    """Ask for a reading of a candidate that passed the mechanical checks, with their warnings."""
    request = render(
        "critic/review",
        card=card,
        goal=goal,
        reached={},
        candidate=candidate,
        lines=candidate.source.strip().splitlines(),
        warnings=findings,
        **_memory(candidate),
    )
    return _pair("critic/system", request)


def _memory(candidate: Candidate) -> dict[str, Any]:
    return {"stages": stage_names(candidate.source), "seen": eyes_text(candidate.source)}


def analyzer_messages(record: CandidateRecord, card: TaskCard) -> tuple[Message, ...]:
    """Ask for the written diagnosis of a trained candidate, from its result and its analysis."""
    episodes = record.analysis.episodes if record.analysis else ()
    names = {name.removeprefix("prev_") for name in _WORDS.findall(record.candidate.source)}
    names |= {row.partition(" ")[0].strip("|") for episode in episodes for row in (*episode.variables, *episode.stays)}
    used = [variable for variable in card.variables if variable.name in names]
    unused = [variable.name for variable in card.variables if variable not in used]
    memory = _memory(record.candidate)
    request = render("analyzer/diagnosis", card=card, record=record, used=used, unused=unused, **memory)
    return _pair("analyzer/system", request, judged=card.judged)


def goal_messages(card: TaskCard, goal: str) -> tuple[Message, ...]:
    """Ask, before a run, if a goal fits the task's fitness."""
    request = render("task/goal_check", card=card, goal=goal, reached={})
    return _pair("task/goal_check_system", request)


def verdict_messages(card: TaskCard, goal: str, feedback: Sequence[str], episodes: str) -> tuple[Message, ...]:
    """Ask if the final policy reaches the user's goal, or without one the task's, by the text of its episodes."""
    request = render("task/verdict", card=card, goal=goal, reached={}, feedback=feedback, episodes=episodes)
    return _pair("task/verdict_system", request, judged=bool(card.judged))


class JudgedEpisode(NamedTuple):
    """An episode as a judge sees it.

    Attributes:
        text: Its length and ending, or a table of its variables.
        frames: PNG files in base64 with their times [s].
    """

    text: str
    frames: tuple[tuple[float, str], ...] = ()


def judge_messages(card: TaskCard, goal: str, first: JudgedEpisode, second: JudgedEpisode) -> tuple[Message, Message]:
    """Ask which of two episodes does more of what the task and the user's goal, which may be empty, ask for."""
    sees = bool(first.frames)
    system, request = _pair(
        "judge/system", render("judge/episodes", card=card, goal=goal, episodes=(first, second)), sees=sees
    )
    pictures = [
        Picture(caption=f"{name} episode, {time:.2f} s", png=png)
        for name, shown in (("first", first), ("second", second))
        for time, png in shown.frames
    ]
    return system, request.model_copy(update={"pictures": tuple(pictures)})


def _pair(system: str, request: str, **facts: Any) -> tuple[Message, Message]:
    return Message(role="system", content=render(system, **facts)), Message(role="user", content=request)


# Templates.


class _Sandbox(ImmutableSandboxedEnvironment):
    """Hide pydantic's methods, one of which reads files."""

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        hidden = isinstance(obj, BaseModel) and hasattr(BaseModel, attr)
        return super().is_safe_attribute(obj, attr, value) and not hidden


@cache
def _environment(templates: Templates) -> Environment:
    environment = _Sandbox(
        loader=DictLoader({name + ENDING: text for name, text in templates.sources.items()}),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
    environment.filters.update(_FILTERS)
    return environment


# Filters.


def standing(record: CandidateRecord) -> str:
    """Write fitness and success rate of a candidate in a line, or its comparisons where others judge."""
    result = record.result
    if record.preference:
        return record.preference.partition("\n")[0]
    if result is None or result.fitness is None:
        return f"failed: {record.outcome}" if record.outcome else "not trained"
    seeds = len(result.slices)
    values = ", ".join(number(part.final_fitness) for part in result.slices if part.final_fitness is not None)
    spread = f" (by seed: {values})" if seeds > 1 else " with one seed"
    rate = "" if result.success_rate is None else f", success {percent(result.success_rate)}"
    delta = record.analysis.fitness_delta if record.analysis else None
    change = "" if delta is None else f", {'+' if delta >= 0 else ''}{number(delta)} against its parent"
    return f"fitness {number(result.fitness)}{spread}{rate}{change}"


def open_warnings(record: CandidateRecord) -> tuple[Finding, ...]:
    """Return the critic's warnings that training neither settled nor repeated as a flag of the same component."""
    warnings = _warnings(record.verdict.findings)
    if record.analysis is None or record.fitness is None:
        return warnings
    flagged = {flag.component for flag in record.analysis.flags if flag.component}
    return tuple(
        finding
        for finding in warnings
        if finding.detector not in SETTLED_BY_TRAINING and finding.component not in flagged
    )


def _warnings(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    return tuple(finding for finding in findings if finding.severity == "warn" and finding.detector not in UNCHECKED)


def _batched(shape: tuple[int, ...]) -> str:
    return f"(N, {', '.join(map(str, shape))})" if shape else "(N,)"


def _triples(parts: Sequence[str], *columns: Sequence[float]) -> str:
    rows = [" / ".join(number(value) for value in row) for row in zip(*columns, strict=False)]
    if not parts:
        return rows[0] if rows else "not measured"
    return "; ".join([f"{name} {row}" for name, row in zip(parts, rows, strict=False)] or parts)


def _values(values: Sequence[float]) -> str:
    listing = ", ".join(map(number, values))
    return listing if len(values) == 1 else f"[{listing}]"


def _ranges(variable: VariableCard) -> str:
    return _triples(variable.parts, variable.minimum, variable.median, variable.maximum)


def _bounds(variable: VariableCard, reached: Mapping[str, Sequence[Range]]) -> str:
    """Write the lowest and highest value of each part under trained policies, without outliers."""
    ranges = reached.get(variable.name, ())
    lows, highs = ([float(f"{round(part[end], 5):.2g}") for part in ranges] for end in (0, 2))
    return _triples(variable.parts, lows, highs)


def _action_ranges(card: TaskCard) -> str:
    if len(set(zip(card.action_low, card.action_high, strict=True))) == 1:
        bounds = f"each {number(card.action_low[0])} to {number(card.action_high[0])}"
        return f"{', '.join(card.action_parts)}; {bounds}" if card.action_parts else bounds
    bounds = zip(card.action_parts, card.action_low, card.action_high, strict=True)
    return "; ".join(f"{name} {number(low)} to {number(high)}" for name, low, high in bounds)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def fenced(text: str, language: str = "") -> str:
    """Fence a block of code with more ticks than any run of ticks in it."""
    fence = _ticks(text, 3)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _code(text: str) -> str:
    ticks = _ticks(text, 1)
    return f"{ticks}{text}{ticks}" if len(ticks) == 1 else f"{ticks} {text} {ticks}"


def _ticks(text: str, least: int) -> str:
    return "`" * max([least, *(1 + len(run) for run in re.findall("`+", text) if len(run) >= least)])


def _quoted(text: str) -> str:
    """Mark every line of a quotation, so that no line passes for the prompt's text."""
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def _cell(text: str) -> str:
    return _one_line(text).replace("|", "/")


_FILTERS: dict[str, Any] = {
    "num": number,
    "percent": percent,
    "physics": words,
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
    "values": _values,
    "batched": _batched,
    "ranges": _ranges,
    "action_ranges": _action_ranges,
    "one_line": _one_line,
    "fenced": fenced,
    "code": _code,
    "quoted": _quoted,
    "cell": _cell,
}
