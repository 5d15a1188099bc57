"""Measuring a task card: what the designer is told of a task, in words and in numbers from short rollouts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from rewardgen.sim.body_words import body_words
from rewardgen.sim.episodes import Episode, Recording, TrivialPolicy, ending_shares, record_episodes, trivial_policies
from rewardgen.sim.influence import beyond_actions
from rewardgen.sim.mujoco_env import MujocoVecEnv
from rewardgen.sim.shape_words import things_words
from rewardgen.sim.variables import Var
from rewardgen.sim.vec_env import ENDED, ENV_REWARD
from rewardgen.store.records import PolicyProbe, TaskCard, VariableCard
from rewardgen.tasks.baselines import baseline_sources
from rewardgen.tasks.fingerprint import digests, fingerprint, made_of
from rewardgen.tasks.fitness import measure_episodes
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.measure import MeasuredTask
from rewardgen.tasks.protocol import Task
from rewardgen.tasks.wording import description, first_paragraph

PROBE_ENVS = 8
"""Episodes per trivial policy."""
_PROBE_SEED = 20_000_003
_AHEAD = 100
"""Steps that a learner looks ahead."""


def measure_job(payload: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """The worker job `measure`: {"task": reference} to a `MeasuredTask`."""
    return measure_task(load_task(payload["task"]), payload["task"]).model_dump(mode="json")


def measure_task(task: Task, reference: str) -> MeasuredTask:
    """All that a run has to know of a task.

    Args:
        task: The task.
        reference: How it was named.

    Raises:
        TaskError: It breaks its contract.
    """
    return MeasuredTask(
        card=measure_card(task, reference),
        baselines=baseline_sources(task),
        training={
            trainer: settings.model_dump(mode="json", exclude_unset=True) for trainer, settings in task.training.items()
        },
        environment=env if isinstance(env := getattr(task, "env", ""), str) else "",
        on_device=task.on_device,
        solved_fitness=task.solved_fitness,
        files=digests(made_of(task)),
    )


def measure_card(
    task: Task, reference: str | None = None, recordings: Mapping[TrivialPolicy, Recording] | None = None
) -> TaskCard:
    """Describe a task from its class and from episodes of two trivial policies.

    Args:
        task: The task.
        reference: How the task was named; the path of its file if not given.
        recordings: The episodes, by policy, if they are there already.

    Raises:
        TaskError: The task breaks its contract.
    """
    envs = task.make_envs([_PROBE_SEED], PROBE_ENVS)
    if recordings is None:
        recordings = {name: record_episodes(envs, policy) for name, policy in trivial_policies(envs).items()}
    given = beyond_actions(envs) if isinstance(envs, MujocoVecEnv) else {}
    return TaskCard(
        reference=reference or str(task.path),
        name=task.path.stem,
        fingerprint=fingerprint(digests(made_of(task))),
        description=description(task),
        variables=describe_variables(task.declared(), list(recordings.values()), given),
        agents=getattr(envs, "agents", ()),
        choices=bool(getattr(envs, "choices", ())),
        action_size=envs.action_size,
        action_parts=envs.action_parts,
        action_low=_rounded(envs.action_low),
        action_high=_rounded(envs.action_high),
        observation_size=envs.observation_size,
        observation=first_paragraph(task, "observe"),
        body=_looks(envs.view.model) if isinstance(envs, MujocoVecEnv) else "",
        reset=first_paragraph(task, "reset"),
        termination=first_paragraph(task, "terminated"),
        termination_causes=envs.causes,
        success_terminates=task.success_terminates,
        ends_wanted=ENDED in envs.causes and _ends_wanted([each.episode for each in recordings.values()]),
        best_fitness=task.best_fitness,
        success=first_paragraph(task, "success"),
        fitness=first_paragraph(task, "fitness"),
        control_step_s=envs.control_step_s,
        episode_steps=task.episode_steps,
        probes=tuple(probe(task, name, recording) for name, recording in recordings.items()),
    )


def _ends_wanted(episodes: Sequence[Episode]) -> bool:
    """Whether the environment's own reward charges for living, and less for an end than an end saves.

    So it is with a goal that ends the episode, and with an environment that never ends. The others pay for living, or
    charge for a fall.
    """
    reward = [each[ENV_REWARD].double() for each in episodes]
    last = [each.last(own) for each, own in zip(episodes, reward, strict=True)]
    ends = torch.cat([own[each.terminated] for each, own in zip(episodes, last, strict=True)])
    total = sum(float(each.total(own).sum()) for each, own in zip(episodes, reward, strict=True))
    steps = sum(int(each.lengths.sum()) for each in episodes) - len(ends)
    saved = (total - float(ends.sum())) / max(1, steps) * min(_AHEAD, episodes[0].max_steps)
    return float(ends.median()) > saved / 2 and saved <= 0.0 if len(ends) else saved < 0.0


def probe(task: Task, policy: TrivialPolicy, recording: Recording) -> PolicyProbe:
    """What a trivial policy reached, means over its episodes.

    Raises:
        TaskError: The task's fitness or success breaks the contract.
    """
    found = measure_episodes(task, recording.episode)
    return PolicyProbe(
        policy=policy,
        fitness=_round(float(found.fitness.mean())),
        success_rate=float(found.success.double().mean()),
        parts={name: _round(float(values.mean())) for name, values in found.parts.items()},
        episode_steps=_round(float(recording.episode.lengths.double().mean())),
        terminations=ending_shares(recording.endings),
    )


def describe_variables(
    declared: dict[str, Var], recordings: Sequence[Recording], given: Mapping[str, tuple[bool, ...]] = {}
) -> tuple[VariableCard, ...]:
    """The declared variables with their ranges over all steps lived in the recordings.

    Args:
        declared: The variables.
        recordings: The episodes.
        given: Which parts no action changes, where there are such.
    """
    return tuple(_describe(name, each, recordings, given.get(name, ())) for name, each in declared.items())


def _describe(name: str, variable: Var, recordings: Sequence[Recording], given: tuple[bool, ...]) -> VariableCard:
    seen = torch.cat([each.episode[name][each.episode.mask].reshape(-1, *variable.shape) for each in recordings])
    seen = seen.reshape(len(seen), -1)
    return VariableCard(
        name=name,
        unit=variable.unit,
        meaning=variable.meaning,
        shape=variable.shape,
        parts=variable.parts,
        minimum=_rounded(seen.amin(0)),
        median=_rounded(seen.median(0).values),
        maximum=_rounded(seen.amax(0)),
        given=given,
    )


def _rounded(values: Tensor) -> tuple[float, ...]:
    return tuple(_round(value) for value in values.tolist())


def _round(value: float) -> float:
    """Four significant digits, and numbers below a millionth as zero: a resting simulation is never quite still."""
    return float(f"{round(value, 6):.4g}")


def _looks(model: Any) -> str:
    return " ".join(filter(None, (body_words(model), things_words(model))))
