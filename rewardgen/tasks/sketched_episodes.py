"""From sketches to episodes: keyframes become a value at every control step, and what follows from them is filled in.

A velocity that the author leaves out is the derivative of the position, a distance the length of the way, a height the
third part of a position. Where an author gives both and they do not fit, the sketch says what cannot be.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from rewardgen.sim.episodes import Episode
from rewardgen.sim.quantities import Quantity
from rewardgen.sim.variables import Var
from rewardgen.tasks.implied import is_called_flag
from rewardgen.tasks.protocol import Task
from rewardgen.tasks.sketches import Sketch, written_out

_TURNS = re.compile(r'^(Body\(.*\))\.turns\("([xyz])"\)$')
_RATES = {"velocity": ("position", "angle", "length")}
_MOST_FAULTS = 3
_SLACK = 0.6
"""Share of its own size by which a value may miss what follows from others: a sketch is drawn by hand."""
_STILL = 0.25
"""Differences below this are none [the variable's unit]."""


class Drawn(NamedTuple):
    """Sketches as episodes.

    Attributes:
        episode: One episode of each.
        faults: For each, what cannot be.
    """

    episode: Episode
    faults: list[list[str]]


def drawn(task: Task, sketches: Sequence[Sketch], start: Mapping[str, Tensor], step_s: float, actions: int) -> Drawn:
    """Episodes of sketches, each a full one long.

    Args:
        task: The task.
        sketches: N sketches.
        start: Value of each variable at the start, () or (k,).
        step_s: Control step [s].
        actions: Size of an action; sketches have none, so it is zero throughout.
    """
    steps, sketches = task.episode_steps, [written_out(each) for each in sketches]
    times = (torch.arange(steps, dtype=torch.float64) + 1.0) * step_s
    declared = task.declared()
    named = [{name for _, frame in sketch.keyframes for name in frame} for sketch in sketches]
    courses = [
        {name: _course(sketch, name, start[name], var, times) for name, var in declared.items()} for sketch in sketches
    ]
    values = [_filled(course, given, declared, step_s) for course, given in zip(courses, named, strict=True)]
    together = {name: torch.stack([each[name] for each in values], 1) for name in task.declared()}
    together["action"] = torch.zeros(steps, len(sketches), actions, dtype=torch.float64)
    lengths, terminated = _ends(task, sketches, together, step_s)
    faults = []
    for sketch, each, given, lived in zip(sketches, values, named, lengths.tolist(), strict=True):
        # What is held after the last keyframe, or follows an early end, was not drawn.
        until = max(1, min(lived, round(sketch.keyframes[-1][0] / step_s)))
        shown = {name: value[:until] for name, value in each.items()}
        found = [*_contradictions(shown, given, declared, step_s), *_impossible(shown, given, declared)]
        faults.append(found[:_MOST_FAULTS])
    return Drawn(Episode(together, lengths, terminated, step_s, steps), faults)


def _course(sketch: Sketch, name: str, start: Tensor, variable: Var, times: Tensor) -> Tensor:
    """Values of one variable, (T, ...): as at the start until its first keyframe, held after its last one."""
    frames = [(time, torch.tensor(frame[name]).double()) for time, frame in sketch.keyframes if name in frame]
    if not frames or frames[0][0] > 0.0:
        frames = [(0.0, start.double()), *frames]
    at, points = torch.tensor([time for time, _ in frames]).double(), torch.stack([value for _, value in frames])
    after = torch.searchsorted(at, times, right=True).clamp(1, max(1, len(at) - 1))
    if len(at) == 1:
        return points.expand(len(times), *points.shape[1:]).clone()
    before = after - 1
    if is_called_flag(variable):
        return points[torch.searchsorted(at, times, right=True).sub(1).clamp(min=0)]
    share = ((times - at[before]) / (at[after] - at[before])).clamp(0.0, 1.0)
    return torch.lerp(points[before], points[after], share.view(-1, *[1] * (points.ndim - 1)))


# What follows from what.


def _filled(
    values: dict[str, Tensor], given: set[str], declared: Mapping[str, Var], step_s: float
) -> dict[str, Tensor]:
    known, settled = dict(values), set(given)
    # Positions before velocities: what is derived may lead on.
    for target, source, follow in _relations(declared, step_s):
        if source in settled and target not in given:
            known[target] = follow(known)
            settled.add(target)
    return known


def _contradictions(
    values: Mapping[str, Tensor], given: set[str], declared: Mapping[str, Var], step_s: float
) -> Iterator[str]:
    for target, source, follow in _relations(declared, step_s):
        if {target, source} <= given and (miss := _misses(values[target], follow(values))):
            yield f"`{target}` does not follow from `{source}`: {miss}; leave it out, and it is filled in"


def filled_in(declared: Mapping[str, Var]) -> dict[str, tuple[str, ...]]:
    """Which variables follow from others, and from which: they are filled in where an author draws those.

    Args:
        declared: The task's variables.
    """
    found: dict[str, tuple[str, ...]] = {}
    for target, source, _ in _relations(declared, 1.0):
        found[target] = (*found.get(target, ()), source)
    return found


def _relations(
    declared: Mapping[str, Var], step_s: float
) -> Iterator[tuple[str, str, Callable[[Mapping[str, Tensor]], Tensor]]]:
    """Variable, the variable that it follows from, and how."""
    codes = {each.code: name for name, each in declared.items() if isinstance(each, Quantity)}
    for code, name in codes.items():
        owner, _, what = code.rpartition(".")
        position, height = codes.get(f"{owner}.position"), codes.get(f"{owner}.height")
        if what == "position" and height:
            yield name, height, lambda known, n=name, h=height: _with_height(known[n], known[h])
        if what == "height" and position:
            yield name, position, lambda known, p=position: known[p][:, 2]
        if code.startswith("Distance(") and (way := codes.get(code.replace("Distance", "Direction", 1))):
            yield name, way, lambda known, w=way: known[w].norm(dim=1)
    for code, name in codes.items():
        owner, _, what = code.rpartition(".")
        for source in _RATES.get(what, ()):
            if place := codes.get(f"{owner}.{source}"):
                yield name, place, lambda known, p=place: _rate(known[p], step_s)
        if what == "velocity" and f"{owner}.position" not in codes and (height := codes.get(f"{owner}.height")):
            yield name, height, lambda known, n=name, h=height: _with_height(known[n], _rate(known[h], step_s))
        if found := _TURNS.match(code):
            spin, axis = codes.get(f"{found[1]}.angular_velocity"), "xyz".index(found[2])
            if spin:
                yield (
                    spin,
                    name,
                    lambda known, s=spin, n=name, a=axis: _with_part(
                        known[s], a, 2.0 * torch.pi * _rate(known[n], step_s)
                    ),
                )


def _rate(values: Tensor, step_s: float) -> Tensor:
    return torch.diff(values, dim=0, prepend=values[:1]) / step_s


def _with_height(values: Tensor, height: Tensor) -> Tensor:
    return _with_part(values, 2, height)


def _with_part(values: Tensor, part: int, new: Tensor) -> Tensor:
    changed = values.clone()
    changed[:, part] = new
    return changed


def _misses(told: Tensor, follows: Tensor) -> str:
    """Where and by how much values miss what follows from others; empty if they do not."""
    miss = (told - follows).reshape(len(told), -1).abs().amax(1)
    size = torch.stack((told, follows)).reshape(2, -1).abs().amax()
    typical = float(miss.quantile(0.8))
    if typical <= max(_STILL, _SLACK * float(size)):
        return ""
    at = int(miss.argmax())
    said, due = (each.reshape(len(told), -1)[at] for each in (told, follows))
    worst = int((said - due).abs().argmax())
    return f"at step {at + 1} it is {float(said[worst]):.3g}, and should be about {float(due[worst]):.3g}"


def _impossible(values: Mapping[str, Tensor], given: set[str], declared: Mapping[str, Var]) -> Iterator[str]:
    for name in sorted(given & declared.keys()):
        variable, seen = declared[name], values[name]
        low, high = float(seen.min()), float(seen.max())
        code = variable.code if isinstance(variable, Quantity) else ""
        if code.startswith("Distance(") and low < 0.0:
            yield f"`{name}` is a distance, and {low:.3g} at its lowest"
        if code.endswith(".upright") and max(-low, high) > 1.0 + 1e-6:
            yield f"`{name}` is a cosine, and {low:.3g} to {high:.3g}"
        if code.startswith("Touching(") and not bool(((seen == 0.0) | (seen == 1.0)).all()):
            yield f"`{name}` is 0 or 1, and {low:.3g} to {high:.3g}"


def _ends(task: Task, sketches: Sequence[Sketch], values: Mapping[str, Tensor], step_s: float) -> tuple[Tensor, Tensor]:
    """Steps lived (N,) and whether a termination condition ended each (N,): the task's own, else what authors say."""
    steps, count = task.episode_steps, len(sketches)
    flat = {name: each.flatten(0, 1) for name, each in values.items()}
    try:
        causes = task.terminated(None, flat)  # type: ignore[attr-defined]
        holds = torch.stack([each.view(steps, count) for each in causes.values()]).any(0) if causes else None
    except Exception:  # a task's own method may ask the simulator, which is not there
        last = torch.tensor([round(each.keyframes[-1][0] / step_s) for each in sketches]).clamp(1, steps)
        ended = torch.tensor([each.terminated for each in sketches])
        return torch.where(ended, last, steps), ended
    if holds is None:
        return torch.full((count,), steps), torch.zeros(count, dtype=torch.bool)
    ended = holds.any(0)
    first = holds.int().argmax(0) + 1
    return torch.where(ended, first, steps), ended
