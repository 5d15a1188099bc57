"""Sketches of episodes: behaviours that an author drew by hand, from nothing to what was asked, to try a metric on.

An author sees what was asked for and the task's variables, never the metric. A sketch is a few keyframes of the
variables over time, linear in between, as the prompt `task/sketch_system` says. Loads no torch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Literal, get_args

from pydantic import Field

from rewardgen.core.errors import did_you_mean
from rewardgen.core.schema import Frozen, Text
from rewardgen.core.text import visible
from rewardgen.llm.json_reply import json_object

SketchKind = Literal["nothing", "partial", "right", "cheat"]
KINDS: tuple[SketchKind, ...] = get_args(SketchKind)
_WANTED = {"nothing": 1, "partial": 1, "right": 2, "cheat": 3}
"""How many of each kind there are at least."""
_COUNT = range(6, 13)
_MOST_KEYFRAMES = 200
_MOST_REPEATED = 5_000
"""Keyframes of a sketch with its repetitions."""
_MOST_FAULTS = 12
_LARGEST, _HUGE = 1e6, 1e300
_TIME = "t"
_REPEAT = "repeat"

Value = float | tuple[float, ...]
Keyframe = tuple[float, Mapping[str, Value]]


class Repeat(Frozen):
    """A stretch between two keyframes that is drawn once and goes on; times since the start [s]."""

    first: float
    last: float
    until: float


class Sketch(Frozen):
    """One behaviour."""

    name: Text
    kind: SketchKind
    rank: float = Field(allow_inf_nan=False)
    """How well it does what was asked, by its author; higher is better."""
    keyframes: tuple[Keyframe, ...] = Field(min_length=1)
    """Time since the start [s] and the values of some variables; each is linear between the keyframes that name it."""
    repeat: Repeat | None = None
    """A stretch that goes on."""
    terminated: bool = False
    """Whether its author says that a termination condition ends it at its last keyframe."""


class Sketches(Frozen):
    """What one author drew."""

    question: Text = ""
    """What would settle what the words leave open."""
    sketches: tuple[Sketch, ...]


def read_sketches(reply: str, shapes: Mapping[str, tuple[int, ...]], episode_s: float) -> Sketches | tuple[str, ...]:
    """The sketches in a reply, or what is wrong with them.

    Args:
        reply: A language model's reply.
        shapes: Name of each variable to its shape, () or (k,).
        episode_s: Duration of a full episode [s].
    """
    told = json_object(reply)
    if told is None or not isinstance(told.get("sketches"), list):
        return ('there is no JSON with `{"question": ..., "sketches": [...]}` in the reply',)
    drawn = [each for each in told["sketches"] if isinstance(each, dict)]
    faults = [*islice(_faults(drawn, shapes, episode_s), _MOST_FAULTS)]
    if faults:
        return tuple(faults)
    question = str(told.get("question") or "")[:600]
    return Sketches(question=question, sketches=tuple(_sketch(each) for each in drawn))


def _faults(drawn: list[dict[str, Any]], shapes: Mapping[str, tuple[int, ...]], episode_s: float) -> Iterator[str]:
    if len(drawn) not in _COUNT:
        yield f"there are {len(drawn)} sketches, expected {_COUNT.start} to {_COUNT.stop - 1}"
    for kind, least in _WANTED.items():
        count = sum(each.get("kind") == kind for each in drawn)
        if count < least:
            yield f"there are {count} sketches of the kind `{kind}`, expected {least} or more"
    for number, each in enumerate(drawn, start=1):
        name = f"sketch {number}, `{visible(str(each.get('name', '')))[:60]}`"
        yield from (f"{name}: {fault}" for fault in _sketch_faults(each, shapes, episode_s))


def _sketch_faults(told: dict[str, Any], shapes: Mapping[str, tuple[int, ...]], episode_s: float) -> Iterator[str]:
    if told.get("kind") not in KINDS:
        yield f"its kind is none of {', '.join(KINDS)}"
    if not _is_number(told.get("rank")):
        yield "it has no `rank`, a number"
    frames = told.get("keyframes")
    if not isinstance(frames, list) or not 0 < len(frames) <= _MOST_KEYFRAMES:
        yield f"it has no list of 1 to {_MOST_KEYFRAMES} `keyframes`"
        return
    before = -1.0
    for frame in frames:
        time = frame.get(_TIME) if isinstance(frame, dict) else None
        if time is None or not _is_number(time):
            yield "a keyframe has no `t`, its time in seconds"
            return
        if time < 0.0 or not before < time <= episode_s + 1e-6:
            yield f"the keyframe at t = {time:g} is not after the one before, or after the end at {episode_s:g} s"
            return
        before = time
        for name, value in frame.items():
            if name != _TIME and (fault := _value_fault(name, value, shapes)):
                yield f"at t = {time:g}: {fault}"
                return
    if (cycle := told.get(_REPEAT)) is not None:
        yield from _repeat_faults(cycle, frames, episode_s)


def _repeat_faults(cycle: Any, frames: list[dict[str, Any]], episode_s: float) -> Iterator[str]:
    bounds = [cycle.get(name) for name in ("from", "to", "until")] if isinstance(cycle, dict) else []
    if not bounds or not all(map(_is_number, bounds)):
        yield f'its `{_REPEAT}` is not of the form {{"from": 1.0, "to": 1.5, "until": 9.0}}'
        return
    first, last, until = (float(each or 0.0) for each in bounds)
    ends = [{*frame} for frame in frames if frame[_TIME] in (first, last)]
    ordered = first < last <= until <= episode_s + 1e-6 and len(ends) == 2
    if not ordered or any(last < frame[_TIME] <= until for frame in frames):
        yield f"its `{_REPEAT}` goes from one keyframe's time to another's, until before the next one or the end"
        return
    times = (until - last) / (last - first)
    if abs(times - round(times)) > 1e-6:
        yield f"its `{_REPEAT}` ends within a repetition: let `until` be `to` and a whole number of times `to - from`"
    elif times * len(frames) > _MOST_REPEATED:
        yield f"its `{_REPEAT}` makes more than {_MOST_REPEATED} keyframes"
    # What is named within the stretch moves on by the difference between its ends.
    named = {name for frame in frames if first < frame[_TIME] <= last for name in frame}
    if missing := sorted(named - (ends[0] & ends[1])):
        listed = ", ".join(f"`{visible(str(name))[:60]}`" for name in missing[:4])
        yield f"name {listed} at both ends of its `{_REPEAT}`, `from` and `to`"


def _value_fault(name: str, value: Any, shapes: Mapping[str, tuple[int, ...]]) -> str:
    if name not in shapes:
        return f"there is no variable `{visible(str(name))[:60]}`; {did_you_mean(str(name)[:60], shapes)}"
    parts = math.prod(shapes[name])
    values = value if isinstance(value, list) else [value]
    if isinstance(value, bool):
        values = [float(value)]
    if not all(_is_number(each) for each in values) or any(abs(each) > _LARGEST for each in values):
        return f"`{name}` is not a number, or a list of numbers, of a size that can be meant"
    if len(values) != parts or isinstance(value, list) != bool(shapes[name]):
        return f"`{name}` has {parts} {'parts, as a list' if shapes[name] else 'value, not a list'}"
    return ""


def _is_number(value: Any) -> bool:
    # Compared, not converted: an integer may be too large for a float.
    return isinstance(value, int | float) and not isinstance(value, bool) and -_HUGE < value < _HUGE


def _sketch(told: dict[str, Any]) -> Sketch:
    frames = tuple(
        (
            float(frame[_TIME]),
            {
                name: tuple(map(float, value)) if isinstance(value, list) else float(value)
                for name, value in frame.items()
                if name != _TIME
            },
        )
        for frame in told["keyframes"]
    )
    cycle = told.get(_REPEAT)
    repeat = cycle and Repeat(first=cycle["from"], last=cycle["to"], until=cycle["until"])
    return Sketch(
        name=str(told.get("name") or told["kind"])[:80],
        kind=told["kind"],
        rank=float(told["rank"]),
        keyframes=frames,
        repeat=repeat,
        terminated=told.get("terminated") is True,
    )


def written_out(sketch: Sketch) -> Sketch:
    """A sketch with what is repeated in it as keyframes.

    What has moved on over the stretch, such as a position, moves on by as much each time.

    Args:
        sketch: The sketch.
    """
    if (cycle := sketch.repeat) is None:
        return sketch
    frames, period = sketch.keyframes, cycle.last - cycle.first
    first, last = (next(frame for time, frame in frames if time == end) for end in (cycle.first, cycle.last))
    again = [
        (
            time + number * period,
            {name: _moved_on(each, first.get(name), last.get(name), number) for name, each in frame.items()},
        )
        for number in range(1, int((cycle.until - cycle.last) / period + 1e-9) + 1)
        for time, frame in frames
        if cycle.first < time <= cycle.last
    ]
    before, after = ([each for each in frames if (each[0] > cycle.last) == late] for late in (False, True))
    return sketch.model_copy(update={"keyframes": (*before, *again, *after), "repeat": None})


def _moved_on(value: Value, first: Value | None, last: Value | None, times: int) -> Value:
    if first is None or last is None:
        return value
    if isinstance(value, float) and isinstance(first, float) and isinstance(last, float):
        return value + times * (last - first)
    assert isinstance(value, tuple) and isinstance(first, tuple) and isinstance(last, tuple)
    return tuple(each + times * (b - a) for each, a, b in zip(value, first, last, strict=True))
