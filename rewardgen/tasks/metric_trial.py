"""Trying a task's metric, in a worker: on episodes of policies that know nothing, and on sketches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from rewardgen.core.errors import TaskError
from rewardgen.sim.episodes import Episode, Recording, record_episodes, trivial_policies
from rewardgen.sim.variables import Flip, Shift, Wrap, variables_of
from rewardgen.sim.vec_env import Policy, VecEnv
from rewardgen.tasks.card import PROBE_ENVS, measure_card
from rewardgen.tasks.check import check_task
from rewardgen.tasks.fitness import measure_episodes
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.metric_verdict import Rollout, SketchResult, TaskLook
from rewardgen.tasks.protocol import Task
from rewardgen.tasks.sketched_episodes import Drawn, drawn, filled_in
from rewardgen.tasks.sketches import Sketches

SEED = 50_000_017
_POINTS = 32
"""Of a variable's course that are kept for showing."""
_SAME = 1e-3
"""Difference of two fitnesses that are the same but for rounding."""


def look_job(payload: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """The worker job `look`: {"task": reference} to a `TaskLook`."""
    task = load_task(payload["task"])
    problems = check_task(task).problems
    if problems:
        return TaskLook(problems=tuple(problems)).model_dump(mode="json")
    envs = task.make_envs([SEED], PROBE_ENVS)
    recordings = {name: record_episodes(envs, policy) for name, policy in policies(envs).items()}
    return TaskLook(
        card=measure_card(task, payload["task"], {name: recordings[name] for name in ("zero", "random")}),
        start={name: tuple(value.reshape(-1).tolist()) for name, value in start_of(recordings["zero"]).items()},
        follows=filled_in(task.declared()),
        rollouts=tuple(rollout(task, name, each.episode) for name, each in recordings.items()),
    ).model_dump(mode="json")


def trial_job(payload: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """The worker job `trial`: a task's metric on sketches.

    Args:
        payload: `task`, its reference; `authors`, a list of `Sketches`; `start`, as in `TaskLook`.
        report: Not used.

    Returns:
        `authors`: for each, a list of `SketchResult`; `faults`: where it contradicts the task's own `invariances`.
    """
    task = load_task(payload["task"])
    envs = task.make_envs([SEED], 1)
    start = {
        name: torch.tensor(payload["start"][name]).double().reshape(each.shape)
        for name, each in task.declared().items()
    }
    authors = [Sketches.model_validate(each) for each in payload["authors"]]
    episodes = [drawn(task, each.sketches, start, envs.control_step_s, envs.action_size) for each in authors]
    results = [tried(task, author, each) for author, each in zip(authors, episodes, strict=True)]
    faults = dict.fromkeys(fault for each in episodes for fault in contradicted(task, each.episode))
    return {"authors": [[each.model_dump(mode="json") for each in one] for one in results], "faults": [*faults]}


def policies(envs: VecEnv) -> dict[str, Policy]:
    """Those that know nothing, and full effort one way, by which most robots fall."""
    low, high = (each.expand(envs.num_envs, -1) for each in (envs.action_low, envs.action_high))
    return {**trivial_policies(envs), "lowest": lambda _: low, "highest": lambda _: high}


def start_of(recording: Recording) -> dict[str, Tensor]:
    """Each variable of one of the envs after one step without action: one, so that all of them fit together."""
    return {name: each[0, 0] for name, each in recording.episode.items() if name != "action"}


def rollout(task: Task, policy: str, episode: Episode) -> Rollout:
    """What a task's metric says of episodes.

    Args:
        task: The task.
        policy: What acted in them.
        episode: The episodes.
    """
    found = measure_episodes(task, episode)
    return Rollout(
        policy=policy,
        fitness=float(found.fitness.mean()),
        success_rate=float(found.success.double().mean()),
        parts={name: float(value.mean()) for name, value in found.parts.items()},
    )


def contradicted(task: Task, episode: Episode) -> Iterator[str]:
    """Declared invariances of a task that its own metric contradicts: one of the two is wrong.

    An angle that wraps is none of them: a metric never sees it outside (-pi, pi].

    Args:
        task: The task.
        episode: Episodes.
    """
    before = measure_episodes(task, episode).fitness
    for each in task.invariances:
        if isinstance(each, Wrap):
            continue
        names, amount = variables_of(each), torch.as_tensor(each.amount if isinstance(each, Shift) else 0.0).double()
        changed = {name: -episode[name] if isinstance(each, Flip) else episode[name] + amount for name in names}
        moved = Episode(
            {**episode, **changed}, episode.lengths, episode.terminated, episode.control_step_s, episode.max_steps
        )
        try:
            same = not bool(((measure_episodes(task, moved).fitness - before).abs() > _SAME).any())
        except TaskError:  # it is not even finite there
            same = False
        if not same:
            listed = " and ".join(f"`{name}`" for name in names)
            yield f"`{type(each).__name__}` says that nothing changes with {listed}, and the fitness changes"


def tried(task: Task, author: Sketches, drawing: Drawn) -> list[SketchResult]:
    """What a task's metric says of sketches.

    Args:
        task: The task.
        author: The sketches.
        drawing: Their episodes.
    """
    episode, faults = drawing
    found = measure_episodes(task, episode)
    shown = torch.linspace(0, task.episode_steps - 1, _POINTS).long()
    return [
        SketchResult(
            name=sketch.name,
            kind=sketch.kind,
            rank=sketch.rank,
            fitness=float(found.fitness[index]),
            success=bool(found.success[index]),
            parts={name: float(value[index]) for name, value in found.parts.items()},
            steps=int(episode.lengths[index]),
            terminated=bool(episode.terminated[index]),
            faults=tuple(faults[index]),
            course=_course(episode, shown, index, _named(sketch.keyframes)),
        )
        for index, sketch in enumerate(author.sketches)
    ]


def _course(episode: Episode, steps: Tensor, env: int, names: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """Variables of one of the envs at some steps, each part of a vector by itself."""
    course = {}
    for name in names:
        values = episode[name][steps, env]
        parts = {name: values} if values.ndim == 1 else {f"{name}[{at}]": each for at, each in enumerate(values.T)}
        course |= {part: tuple(each.tolist()) for part, each in parts.items()}
    return course


def _named(keyframes: Sequence[tuple[float, Mapping[str, Any]]]) -> list[str]:
    return list(dict.fromkeys(name for _, frame in keyframes for name in frame))
