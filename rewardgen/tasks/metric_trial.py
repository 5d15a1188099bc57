"""Trying a task's metric, in a worker: on episodes of policies that know nothing, and on sketches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from rewardgen.sim.episodes import Episode, Recording, record_episodes, trivial_policies
from rewardgen.sim.vec_env import Policy, VecEnv
from rewardgen.tasks.card import PROBE_WORLDS, measure_card
from rewardgen.tasks.check import check_task
from rewardgen.tasks.fitness import measure_episodes
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.metric_verdict import Rollout, SketchResult, TaskLook
from rewardgen.tasks.protocol import Task
from rewardgen.tasks.sketched_episodes import drawn
from rewardgen.tasks.sketches import Sketches

SEED = 50_000_017
_POINTS = 32
"""Of a variable's course that are kept for showing."""


def look_job(payload: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """The worker job `look`: {"task": reference} to a `TaskLook`."""
    task = load_task(payload["task"])
    problems, _ = check_task(task)
    if problems:
        return TaskLook(problems=tuple(problems)).model_dump(mode="json")
    envs = task.make_envs([SEED], PROBE_WORLDS)
    recordings = {name: record_episodes(envs, policy) for name, policy in policies(envs).items()}
    return TaskLook(
        card=measure_card(task, payload["task"]),
        start={name: tuple(value.reshape(-1).tolist()) for name, value in start_of(recordings["zero"]).items()},
        rollouts=tuple(rollout(task, name, each.episode) for name, each in recordings.items()),
    ).model_dump(mode="json")


def trial_job(payload: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """The worker job `trial`: a task's metric on sketches.

    Args:
        payload: `task`, its reference; `authors`, a list of `Sketches`; `start`, as in `TaskLook`.
        report: Not used.

    Returns:
        `authors`: for each, a list of `SketchResult`.
    """
    task = load_task(payload["task"])
    envs = task.make_envs([SEED], 1)
    start = {
        name: torch.tensor(payload["start"][name]).double().reshape(each.shape)
        for name, each in task.declared().items()
    }
    authors = [Sketches.model_validate(each) for each in payload["authors"]]
    return {"authors": [[each.model_dump(mode="json") for each in tried(task, envs, start, one)] for one in authors]}


def policies(envs: VecEnv) -> dict[str, Policy]:
    """Those that know nothing, and full effort one way, by which most robots fall."""
    low, high = (each.expand(envs.num_envs, -1) for each in (envs.action_low, envs.action_high))
    return {**trivial_policies(envs), "lowest": lambda _: low, "highest": lambda _: high}


def start_of(recording: Recording) -> dict[str, Tensor]:
    """Each variable of one of the worlds after one step without action: one, so that all of them fit together."""
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


def tried(task: Task, envs: VecEnv, start: Mapping[str, Tensor], author: Sketches) -> list[SketchResult]:
    """What a task's metric says of sketches.

    Args:
        task: The task.
        envs: Environments of it.
        start: Value of each variable at the start.
        author: The sketches.
    """
    episode, faults = drawn(task, author.sketches, start, envs.control_step_s, envs.action_size)
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
            course={
                name: tuple(episode[name][shown, index].tolist())
                for name in _named(sketch.keyframes)
                if episode[name].ndim == 2
            },
        )
        for index, sketch in enumerate(author.sketches)
    ]


def _named(keyframes: Sequence[tuple[float, Mapping[str, Any]]]) -> list[str]:
    return list(dict.fromkeys(name for _, frame in keyframes for name in frame))
