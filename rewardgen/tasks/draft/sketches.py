"""Sketches of episodes: behaviours drawn by hand, from nothing to the requested one, that a metric must rank correctly.

An author sees the words and the variables of a task, never its metric. A sketch is a few keyframes of the variables
over time, linear in between, as the prompt `task/sketch_system` says. Loads no torch.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Literal, get_args

from pydantic import Field

from rewardgen.core.errors import did_you_mean
from rewardgen.core.formatting import number
from rewardgen.core.schema import Frozen, Text
from rewardgen.core.text import visible
from rewardgen.reward.extraction import json_object
from rewardgen.store.records import PolicyProbe, TaskCard

SketchKind = Literal["nothing", "partial", "right", "cheat"]
KINDS: tuple[SketchKind, ...] = get_args(SketchKind)
_LEAST = {"nothing": 1, "partial": 1, "right": 2, "cheat": 3}
"""Sketches of each kind that an author must draw."""
_COUNT = range(6, 13)
_MOST_KEYFRAMES = 200
_MOST_REPEATED = 5_000
_MOST_FAULTS = 12
_LARGEST, _HUGE = 1e6, 1e300

Value = float | tuple[float, ...]
Keyframe = tuple[float, Mapping[str, Value]]


class Sketch(Frozen):
    """One behaviour."""

    name: Text
    kind: SketchKind
    rank: float = Field(allow_inf_nan=False)
    """Quality by its author; higher is better."""
    keyframes: tuple[Keyframe, ...] = Field(min_length=1)
    """Time since the start [s] and values of variables; a variable is linear between the keyframes that name it."""
    terminated: bool = False
    """True if its author says that a termination condition ends it at the last keyframe."""


class Sketches(Frozen):
    """The sketches of one author."""

    question: Text = ""
    """Question to the person who asked for the task."""
    sketches: tuple[Sketch, ...]


def read_sketches(reply: str, shapes: Mapping[str, tuple[int, ...]], episode_s: float) -> Sketches | tuple[str, ...]:
    """Return the sketches in a reply, or their faults.

    `shapes` are those of the variables, () or (k,); `episode_s` is the duration of a full episode [s].
    """
    answer = json_object(reply)
    if answer is None or not isinstance(answer.get("sketches"), list):
        return ('there is no JSON with `{"question": ..., "sketches": [...]}` in the reply',)
    drawings = [drawing for drawing in answer["sketches"] if isinstance(drawing, dict)]
    faults = tuple(islice(_faults(drawings, shapes, episode_s), _MOST_FAULTS))
    question = str(answer.get("question") or "")[:600]
    return faults or Sketches(question=question, sketches=tuple(map(_sketch, drawings)))


def _faults(drawings: list[dict[str, Any]], shapes: Mapping[str, tuple[int, ...]], episode_s: float) -> Iterator[str]:
    if len(drawings) not in _COUNT:
        yield f"there are {len(drawings)} sketches, expected {_COUNT.start} to {_COUNT.stop - 1}"
    for kind, least in _LEAST.items():
        count = sum(drawing.get("kind") == kind for drawing in drawings)
        if count < least:
            yield f"there are {count} sketches of the kind `{kind}`, expected {least} or more"
    for position, drawing in enumerate(drawings, start=1):
        name = f"sketch {position}, `{visible(str(drawing.get('name', '')))[:60]}`"
        yield from (f"{name}: {fault}" for fault in _sketch_faults(drawing, shapes, episode_s))


def _sketch_faults(drawing: dict[str, Any], shapes: Mapping[str, tuple[int, ...]], episode_s: float) -> Iterator[str]:
    if drawing.get("kind") not in KINDS:
        yield f"its kind is none of {', '.join(KINDS)}"
    if not _is_number(drawing.get("rank")):
        yield "it has no `rank`, a number"
    frames = drawing.get("keyframes")
    if not isinstance(frames, list) or not 0 < len(frames) <= _MOST_KEYFRAMES:
        yield f"it has no list of 1 to {_MOST_KEYFRAMES} `keyframes`"
        return
    before = -1.0
    for frame in frames:
        time = frame.get("t") if isinstance(frame, dict) else None
        if time is None or not _is_number(time):
            yield "a keyframe has no `t`, its time in seconds"
            return
        if time < 0.0 or not before < time <= episode_s + 1e-6:
            yield f"the keyframe at t = {time:g} is not after the one before, or after the end at {episode_s:g} s"
            return
        before = time
        faults = (_value_fault(name, value, shapes) for name, value in frame.items() if name != "t")
        if fault := next(filter(None, faults), ""):
            yield f"at t = {time:g}: {fault}"
            return
    if drawing.get("repeat") is not None and not _repeats(drawing["repeat"], frames, episode_s):
        yield (
            'its `repeat` is not of the form {"from": 1.0, "to": 1.5, "until": 9.0}, with the times of two keyframes'
            " that name the same variables, and with a whole number of repetitions that ends before the next keyframe"
        )


def _value_fault(name: str, value: Any, shapes: Mapping[str, tuple[int, ...]]) -> str:
    if name not in shapes:
        return f"there is no variable `{visible(str(name))[:60]}`; {did_you_mean(str(name)[:60], shapes)}"
    parts = math.prod(shapes[name])
    values = value if isinstance(value, list) else [float(value) if isinstance(value, bool) else value]
    if not all(_is_number(part) and abs(part) <= _LARGEST for part in values):
        return f"`{name}` is not a number, or a list of numbers, of a plausible size"
    if len(values) != parts or isinstance(value, list) != bool(shapes[name]):
        return f"`{name}` has {parts} {'parts, as a list' if shapes[name] else 'value, not a list'}"
    return ""


def _is_number(value: Any) -> bool:
    # Compare, don't convert: an integer may be too large for a float.
    return isinstance(value, int | float) and not isinstance(value, bool) and -_HUGE < value < _HUGE


def _repeats(cycle: Any, frames: list[dict[str, Any]], episode_s: float) -> bool:
    """Return whether a stretch between two keyframes can be repeated."""
    bounds = [cycle.get(name) for name in ("from", "to", "until")] if isinstance(cycle, dict) else [None]
    if not all(map(_is_number, bounds)):
        return False
    first, last, until = map(float, bounds)  # type: ignore[arg-type]
    ends = [{*frame} for frame in frames if frame["t"] in (first, last)]
    if not first < last <= until <= episode_s + 1e-6 or len(ends) != 2:
        return False
    count = (until - last) / (last - first)
    between = {name for frame in frames if first < frame["t"] <= last for name in frame}
    free = not any(last < frame["t"] <= until for frame in frames)
    whole = abs(count - round(count)) <= 1e-6 and count * len(frames) <= _MOST_REPEATED
    return free and whole and between <= ends[0] & ends[1]


def _sketch(drawing: dict[str, Any]) -> Sketch:
    frames = [
        (
            float(frame["t"]),
            {
                name: tuple(map(float, value)) if isinstance(value, list) else float(value)
                for name, value in frame.items()
                if name != "t"
            },
        )
        for frame in drawing["keyframes"]
    ]
    if cycle := drawing.get("repeat"):
        frames = _repeated(frames, cycle["from"], cycle["to"], cycle["until"])
    return Sketch(
        name=str(drawing.get("name") or drawing["kind"])[:80],
        kind=drawing["kind"],
        rank=float(drawing["rank"]),
        keyframes=tuple(frames),
        terminated=drawing.get("terminated") is True,
    )


def _repeated(frames: Sequence[Any], first: float, last: float, until: float) -> list[Any]:
    """Write out the stretch from `first` to `last` again and again; a position that advances over it advances on."""
    period = last - first
    start, end = (next(frame for time, frame in frames if time == bound) for bound in (first, last))
    copies = [
        (time + turn * period, {name: _advanced(value, start, end, name, turn) for name, value in frame.items()})
        for turn in range(1, int((until - last) / period + 1e-9) + 1)
        for time, frame in frames
        if first < time <= last
    ]
    return [*(frame for frame in frames if frame[0] <= last), *copies, *(frame for frame in frames if frame[0] > last)]


def _advanced(value: Any, start: Mapping[str, Any], end: Mapping[str, Any], name: str, turns: int) -> Any:
    if name not in start or name not in end:
        return value
    if isinstance(value, int | float):
        return value + turns * (end[name] - start[name])
    return tuple(part + turns * (b - a) for part, a, b in zip(value, start[name], end[name], strict=True))


# Results.


class TaskLook(Frozen):
    """First look at a drafted task: its problems, or its card and the results of policies that know nothing."""

    problems: tuple[tuple[Text, Text], ...] = ()
    """Faults with hints; the other fields are empty if there are any."""
    card: TaskCard | None = None
    start: dict[str, tuple[float, ...]] = {}
    """Value of each variable at the start of an episode, its parts in order."""
    follows: dict[str, tuple[str, ...]] = {}
    """Variable to the variables that it is derived from where a sketch names those."""
    rollouts: tuple[PolicyProbe, ...] = ()


class SketchResult(Frozen):
    """Result of a metric on one sketch."""

    name: Text
    kind: SketchKind
    rank: float
    fitness: float
    success: bool
    parts: dict[str, float] = {}
    steps: int
    terminated: bool
    faults: tuple[Text, ...] = ()
    """Contradictions within the sketch itself; none today, but trials kept from earlier hold the field."""
    course: dict[str, tuple[float, ...]] = {}
    """Values of the sketched variables at some steps."""


class AuthorVerdict(Frozen):
    """Comparison of a metric with one author's sketches."""

    agreement: float
    """Rank correlation of fitness with the author's ranks, without cheats; NaN if one of them is constant."""
    faults: tuple[Text, ...]

    @property
    def agrees(self) -> bool:
        """True if the metric ranks the sketches as their author did."""
        return not self.faults


class MetricVerdict(Frozen):
    """Comparison of a metric with the sketches of all authors and with simulated episodes."""

    authors: tuple[AuthorVerdict, ...]
    faults: tuple[Text, ...] = ()
    """Faults seen on simulated episodes."""
    notes: tuple[Text, ...] = ()
    """Remarks for the person, no reason to reject."""

    @property
    def agreeing(self) -> int:
        """Number of authors who agree with the metric."""
        return sum(author.agrees for author in self.authors)

    @property
    def unanimous(self) -> bool:
        """True if there is no fault and every author agrees."""
        return self.passed and self.agreeing == len(self.authors)

    @property
    def passed(self) -> bool:
        """True if there is no fault and most authors agree."""
        return not self.faults and 2 * self.agreeing > len(self.authors)

    @property
    def ambiguous(self) -> bool:
        """True if the metric passes and the authors disagree on the meaning of the words."""
        return self.passed and not self.unanimous


class MetricTest(Frozen):
    """A metric tested on the sketches of several authors."""

    words: Text
    """The request as the authors saw it."""
    questions: tuple[Text, ...] = ()
    authors: tuple[tuple[SketchResult, ...], ...] = ()
    verdict: MetricVerdict


# The verdict.

LEAST_AGREEMENT = 0.8
"""Rank correlation (Spearman) of fitness with an author's ranks; cheats are left out, as their order is taste."""
_CLEARLY = 1e-6
_LOW = 0.75
"""Share of the lowest fitness of a right sketch that policies which know nothing must stay below."""
_POLICIES = {
    "zero": "episodes without any action",
    "random": "random actions",
    "lowest": "the lowest actions throughout",
    "highest": "the highest actions throughout",
}


def judge_metric(
    look: TaskLook, authors: Sequence[Sequence[SketchResult]], asked: int = 1, contradictions: Sequence[str] = ()
) -> MetricVerdict:
    """Compare a metric with each author's sketches and with episodes of policies that know nothing.

    `asked` authors were asked for sketches; `contradictions` are those between the metric and the task's invariances.
    """
    verdicts = tuple(map(_author_verdict, authors))
    faults, notes = [*contradictions], []
    if len(authors) < asked:
        lost = f"{asked - len(authors)} of {asked} authors drew nothing that could be used"
        (faults if len(authors) < 2 else notes).append(lost)
    # One author of several may have misread the words: take the bar from those who agree.
    trusted = [results for results, verdict in zip(authors, verdicts, strict=True) if verdict.agrees] or authors
    right = [result.fitness for results in trusted for result in results if result.kind == "right"]
    for probe in look.rollouts if right else ():
        reached = f"{_POLICIES.get(probe.policy, probe.policy)} reach fitness {number(probe.fitness)}"
        succeed = f" and succeed in {probe.success_rate:.0%} of the episodes" if probe.success_rate else ""
        if probe.success_rate > 0.5 or probe.fitness >= _LOW * min(right):
            faults.append(f"{reached}{succeed}; episodes that are right reach {number(min(right))}")
        elif probe.success_rate > 0.0:
            notes.append(f"{reached}{succeed}")
    results = [result for author in authors for result in author]
    for name in sorted({name for result in results for name in result.parts}):
        values = [result.parts[name] for result in results if name in result.parts]
        if max(values) - min(values) < 0.01:
            notes.append(f"the part `{name}` is {number(values[0])} in every sketch")
    return MetricVerdict(authors=verdicts, faults=tuple(faults), notes=tuple(notes))


def _author_verdict(results: Sequence[SketchResult]) -> AuthorVerdict:
    serious = [result for result in results if result.kind != "cheat"]
    top = max((result.rank for result in serious), default=0.0)
    ranks = [top if result.kind == "right" else result.rank for result in serious]
    agreement = spearman(ranks, [result.fitness for result in serious])
    return AuthorVerdict(agreement=agreement, faults=tuple(_result_faults(results, agreement)))


def _result_faults(results: Sequence[SketchResult], agreement: float) -> Iterator[str]:
    right = [result for result in results if result.kind == "right"]
    lowest = min(right, key=lambda result: result.fitness, default=None)
    if not agreement >= LEAST_AGREEMENT:
        order = "is the same for all" if agreement != agreement else f"orders them otherwise ({agreement:.2f} Spearman)"
        yield f"fitness {order}, where their author ranks them from worst to best: {_ranked(results)}"
    for result in results:
        reached = f"`{result.name}` ({result.kind}) has fitness {number(result.fitness)}"
        if lowest and result.kind != "right" and result.fitness >= lowest.fitness - _CLEARLY:
            yield f"{reached}, not below `{lowest.name}`, which is right, with {number(lowest.fitness)}"
        if result.kind == "right" and not result.success:
            yield f"{reached} and is no success, though it is right"
        if result.kind != "right" and result.success:
            yield f"{reached} and is a success, though it is not right"


def _ranked(results: Sequence[SketchResult]) -> str:
    ordered = sorted((result for result in results if result.kind != "cheat"), key=lambda result: result.rank)
    return ", ".join(f"`{result.name}` {number(result.fitness)}" for result in ordered)


def spearman(one: Sequence[float], other: Sequence[float]) -> float:
    """Return Spearman's rank correlation; equal values share their ranks, and a constant sequence gives NaN."""
    try:
        return statistics.correlation(_ranks(one), _ranks(other))
    except statistics.StatisticsError:
        return math.nan


def _ranks(values: Sequence[float]) -> list[float]:
    """Return the number of values below each value, with half of those that equal it."""
    gaps = [[value - other for other in values] for value in values]
    return [sum((gap > 1e-9) + 0.5 * (abs(gap) <= 1e-9) for gap in row) for row in gaps]
