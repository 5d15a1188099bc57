"""Worker jobs that test a task's metric: on simulated episodes of policies that know nothing, and on sketches.

Keyframes of a sketch become a value at every control step. Variables that the author leaves out are derived where
possible: a velocity from a position, a distance from a direction.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from rewardgen.core.errors import TaskError
from rewardgen.sim.contract import Problem
from rewardgen.sim.episodes import Episode, Recording, record_episodes, trivial_policies
from rewardgen.sim.quantities import Quantity
from rewardgen.sim.variables import Flip, Shift, Var, Wrap, variables_of
from rewardgen.sim.vec_env import ActFunction, VecEnv
from rewardgen.tasks.card import PROBE_ENVS, measure_card, probe
from rewardgen.tasks.check import check_task
from rewardgen.tasks.draft.sketches import Sketch, Sketches, SketchResult, TaskLook
from rewardgen.tasks.fitness import measure_episodes
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.protocol import Task
from rewardgen.tasks.record_transitions import is_called_flag

SEED = 50_000_017
_POINTS = 32
"""Steps of a sketch's course that are kept for display."""
_SAME = 1e-3
"""Largest difference of equal fitnesses."""
_TURNS = re.compile(r'^(Body\(.*\))\.turns\("([xyz])"\)$')


def look_job(payload: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Run the worker job `look`: {"task": reference} to a `TaskLook`."""
    task = load_task(payload["task"])
    problems = check_task(task).problems
    if problems:
        return TaskLook(problems=tuple(problems)).model_dump(mode="json")
    envs = task.make_envs([SEED], PROBE_ENVS)
    recordings = {name: record_episodes(envs, policy) for name, policy in policies(envs).items()}
    if task.has_fitness:
        problems = _beyond_sketches(task, recordings["zero"].episode)
    if problems:
        return TaskLook(problems=tuple(problems)).model_dump(mode="json")
    follows: dict[str, tuple[str, ...]] = {}
    for target, source, _ in _relations(task.declared(), 1.0):
        follows[target] = (*follows.get(target, ()), source)
    return TaskLook(
        card=measure_card(task, payload["task"], {name: recordings[name] for name in ("zero", "random")}),
        start={name: tuple(value.reshape(-1).tolist()) for name, value in start_of(recordings["zero"]).items()},
        follows=follows,
        rollouts=tuple(probe(task, name, recording) for name, recording in recordings.items()),
    ).model_dump(mode="json")


def _beyond_sketches(task: Task, episode: Episode) -> list[Problem]:
    """Find a metric that reads more than a sketch has: declared variables and actions."""
    told = {name: episode[name] for name in (*task.declared(), "action")}
    lived = episode.lengths, episode.terminated, episode.control_step_s, episode.max_steps
    try:
        measure_episodes(task, Episode(told, *lived))
    except TaskError as error:
        return [
            Problem(
                f"its metric cannot be tried on sketches: {error.message}",
                "let `fitness` and `success` read declared variables alone",
            )
        ]
    return []


def trial_job(payload: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Run the worker job `trial`: measure sketches with a task's metric.

    Returns:
        `authors`: a list of `SketchResult` each; `faults`: contradictions with the task's own `invariances`.
    """
    task = load_task(payload["task"])
    envs = task.make_envs([SEED], 1)
    start = {
        name: torch.tensor(payload["start"][name]).double().reshape(variable.shape)
        for name, variable in task.declared().items()
    }
    authors = [Sketches.model_validate(author) for author in payload["authors"]]
    episodes = [drawn(task, author.sketches, start, envs.control_step_s, envs.action_size) for author in authors]
    results = [tried(task, author, episode) for author, episode in zip(authors, episodes, strict=True)]
    faults = dict.fromkeys(fault for episode in episodes for fault in contradicted(task, episode))
    return {"authors": [[one.model_dump(mode="json") for one in author] for author in results], "faults": [*faults]}


def policies(envs: VecEnv) -> dict[str, ActFunction]:
    """Return policies that know nothing, and full effort one way, which makes most robots fall."""
    low, high = (bound.expand(envs.num_envs, -1) for bound in (envs.action_low, envs.action_high))
    return {**trivial_policies(envs), "lowest": lambda _: low, "highest": lambda _: high}


def start_of(recording: Recording) -> dict[str, Tensor]:
    """Return the variables of one env, so that they fit together, after one step without action."""
    return {name: value[0, 0] for name, value in recording.episode.items() if name != "action"}


def contradicted(task: Task, episode: Episode) -> Iterator[str]:
    """Find declared invariances that the task's own metric violates: one of the two is wrong.

    `Wrap` is left out: a metric never sees an angle outside (-pi, pi].
    """
    before = measure_episodes(task, episode).fitness
    for change in task.invariances:
        if isinstance(change, Wrap):
            continue
        names, amount = variables_of(change), torch.as_tensor(change.amount if isinstance(change, Shift) else 0.0)
        moved = {
            name: -episode[name] if isinstance(change, Flip) else episode[name] + amount.double() for name in names
        }
        other = Episode(
            {**episode, **moved}, episode.lengths, episode.terminated, episode.control_step_s, episode.max_steps
        )
        try:
            same = not bool(((measure_episodes(task, other).fitness - before).abs() > _SAME).any())
        except TaskError:  # the fitness is not even finite
            same = False
        if not same:
            listed = " and ".join(f"`{name}`" for name in names)
            yield f"`{type(change).__name__}` says that nothing changes with {listed}, and the fitness changes"


def tried(task: Task, author: Sketches, episode: Episode) -> list[SketchResult]:
    """Measure the sketches of an author, drawn as episodes, with a task's metric."""
    measures = measure_episodes(task, episode)
    steps = torch.linspace(0, task.episode_steps - 1, _POINTS).long()
    return [
        SketchResult(
            name=sketch.name,
            kind=sketch.kind,
            rank=sketch.rank,
            fitness=float(measures.fitness[index]),
            success=bool(measures.success[index]),
            parts={name: float(value[index]) for name, value in measures.parts.items()},
            steps=int(episode.lengths[index]),
            terminated=bool(episode.terminated[index]),
            course=_points(episode, steps, index, _named(sketch)),
        )
        for index, sketch in enumerate(author.sketches)
    ]


def _points(episode: Episode, steps: Tensor, index: int, names: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """Return variables of one episode at some steps; a vector gives one entry per part."""
    course = {}
    for name in names:
        values = episode[name][steps, index]
        parts = {name: values} if values.ndim == 1 else {f"{name}[{at}]": part for at, part in enumerate(values.T)}
        course |= {part: tuple(numbers.tolist()) for part, numbers in parts.items()}
    return course


def _named(sketch: Sketch) -> list[str]:
    return list(dict.fromkeys(name for _, frame in sketch.keyframes for name in frame))


# From keyframes to episodes.


def drawn(task: Task, sketches: Sequence[Sketch], start: Mapping[str, Tensor], step_s: float, actions: int) -> Episode:
    """Turn N sketches into full episodes with zero actions of size `actions`.

    `start` is the value of each variable at the start, () or (k,); `step_s` the control step [s].
    """
    steps, declared = task.episode_steps, task.declared()
    times = (torch.arange(steps, dtype=torch.float64) + 1.0) * step_s
    values = []
    for sketch in sketches:
        course = {name: _course(sketch, name, start[name], variable, times) for name, variable in declared.items()}
        values.append(_derived(course, {*_named(sketch)}, step_s, declared))
    together = {name: torch.stack([sketch[name] for sketch in values], 1) for name in declared}
    together["action"] = torch.zeros(steps, len(sketches), actions, dtype=torch.float64)
    lengths, terminated = _ends(task, sketches, together, step_s)
    return Episode(together, lengths, terminated, step_s, steps)


def _course(sketch: Sketch, name: str, start: Tensor, variable: Var, times: Tensor) -> Tensor:
    """Return values of a variable, (T, ...): its start value until its first keyframe, constant after its last."""
    frames = [(time, torch.tensor(frame[name]).double()) for time, frame in sketch.keyframes if name in frame]
    if not frames or frames[0][0] > 0.0:
        frames = [(0.0, start.double()), *frames]
    at, points = torch.tensor([time for time, _ in frames]).double(), torch.stack([value for _, value in frames])
    if len(at) == 1:
        return points.expand(len(times), *points.shape[1:]).clone()
    after = torch.searchsorted(at, times, right=True)
    if is_called_flag(variable):
        return points[after.sub(1).clamp(min=0)]
    after = after.clamp(1, len(at) - 1)
    share = ((times - at[after - 1]) / (at[after] - at[after - 1])).clamp(0.0, 1.0)
    return torch.lerp(points[after - 1], points[after], share.view(-1, *[1] * (points.ndim - 1)))


def _derived(
    values: dict[str, Tensor], drawn_names: set[str], step_s: float, declared: Mapping[str, Var]
) -> dict[str, Tensor]:
    """Replace variables that the author left out by values derived from drawn ones."""
    derived, settled = dict(values), set(drawn_names)
    for target, source, derive in _relations(declared, step_s):  # positions first: velocities may follow from them
        if source in settled and target not in drawn_names:
            derived[target] = derive(derived)
            settled.add(target)
    return derived


Derive = Callable[[Mapping[str, Tensor]], Tensor]


def _relations(declared: Mapping[str, Var], step_s: float) -> Iterator[tuple[str, str, Derive]]:
    """Yield variables with a variable that determines them, and the function that derives them."""
    codes = {
        variable.code.partition(".told(")[0]: name
        for name, variable in declared.items()
        if isinstance(variable, Quantity)
    }
    for code, name in codes.items():
        owner, _, attribute = code.rpartition(".")
        position, height = codes.get(f"{owner}.position"), codes.get(f"{owner}.height")
        if attribute == "position" and height:
            yield name, height, lambda values, n=name, h=height: _with_part(values[n], 2, values[h])
        if attribute == "height" and position:
            yield name, position, lambda values, p=position: values[p][:, 2]
        if code.startswith("Distance(") and (way := codes.get(code.replace("Distance", "Direction", 1))):
            yield name, way, lambda values, w=way: values[w].norm(dim=1)
    for code, name in codes.items():
        owner, _, attribute = code.rpartition(".")
        if attribute == "velocity":
            places = [codes[place] for kind in ("position", "angle", "length") if (place := f"{owner}.{kind}") in codes]
            for place in places:
                yield name, place, lambda values, p=place: _rate(values[p], step_s)
            if not places and (height := codes.get(f"{owner}.height")):
                yield name, height, lambda values, n=name, h=height: _with_part(values[n], 2, _rate(values[h], step_s))
        turns = _TURNS.match(code)
        if turns and (spin := codes.get(f"{turns[1]}.angular_velocity")):
            axis = "xyz".index(turns[2])
            yield (
                spin,
                name,
                lambda values, s=spin, n=name, a=axis: _with_part(
                    values[s], a, 2.0 * torch.pi * _rate(values[n], step_s)
                ),
            )


def _rate(values: Tensor, step_s: float) -> Tensor:
    return torch.diff(values, dim=0, prepend=values[:1]) / step_s


def _with_part(values: Tensor, part: int, new: Tensor) -> Tensor:
    changed = values.clone()
    changed[:, part] = new
    return changed


def _ends(task: Task, sketches: Sequence[Sketch], values: Mapping[str, Tensor], step_s: float) -> tuple[Tensor, Tensor]:
    """Return the length and whether a condition terminated it, (N,) each: by the task, else by the authors."""
    steps, count = task.episode_steps, len(sketches)
    flat = {name: value.flatten(0, 1) for name, value in values.items()}
    try:
        causes = task.terminated(None, flat)  # type: ignore[attr-defined]
        holds = torch.stack([cause.view(steps, count) for cause in causes.values()]).any(0) if causes else None
    except Exception:  # a task's own method may ask the simulator, which is absent
        last = torch.tensor([round(sketch.keyframes[-1][0] / step_s) for sketch in sketches]).clamp(1, steps)
        ended = torch.tensor([sketch.terminated for sketch in sketches])
        return torch.where(ended, last, steps), ended
    if holds is None:
        return torch.full((count,), steps), torch.zeros(count, dtype=torch.bool)
    ended = holds.any(0)
    return torch.where(ended, holds.int().argmax(0) + 1, steps), ended
