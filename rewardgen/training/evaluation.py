"""Evaluation: whole episodes of deterministic policies, measured by the task's fitness and success.

Loads no generated rewards. Shapes: T steps, S slices, E episodes per slice, W = S * E envs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from rewardgen.core.errors import RunFolderError, TaskError, lacks_memory
from rewardgen.core.files import write_atomic
from rewardgen.core.physics import parse_ranges
from rewardgen.sim.episodes import Episode, Recording, record_episodes
from rewardgen.sim.kept_episodes import choose_episodes, pack_episodes
from rewardgen.sim.vec_env import HIDDEN, VecEnv
from rewardgen.store.comparisons import TERMINATED, Signal
from rewardgen.store.measurements import EpisodeOutcome, KeptEpisode, Range
from rewardgen.store.records import SliceSpec
from rewardgen.tasks.fitness import measure_episodes
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.protocol import Task
from rewardgen.training.artifacts import episodes_name, evaluation_starts, policy_names
from rewardgen.training.policies import Policy, PolicyStack, load_policy, misfit, side_by_side
from rewardgen.training.result_validation import PolicyMeasurement
from rewardgen.training.shared.seeding import derive_seed

if TYPE_CHECKING:
    from rewardgen.training.shared.eyes import Eyes

_KEPT = 3
"""Recorded episodes of a slice's final policy."""
_UNREAD = 1e9
"""Size of a signal that is not finite."""
_QUANTILES = torch.tensor([0.05, 0.5, 0.95], dtype=torch.float64)


@dataclass(frozen=True)
class Evaluation:
    """One episode in each of W envs."""

    recording: Recording
    fitness: Tensor  # (W,) float64; NaN in slices that could not be measured
    success: Tensor  # (W,) bool
    parts: dict[str, Tensor]  # name of each part of the fitness to (W,)
    problems: dict[int, str]  # index of a slice to the reason why it could not be measured


def evaluate(
    task: Task, envs: VecEnv, policy: PolicyStack, names: Iterable[str] = (), eyes: Eyes | None = None
) -> Evaluation:
    """Run the first episode of every env, the same at every call, and measure each slice as if it were alone.

    A fitness that raises is the slice's problem, not an error: one policy may have caused it, or all. A lack of memory
    is no policy's.
    """
    act = (lambda seen: policy.act(eyes.see(seen))) if eyes else policy.act
    watch = (lambda step, alive: eyes.follow(step)) if eyes else None
    recording = record_episodes(envs, act, names=names, anew=True, watch=watch)
    episode = recording.episode
    episodes = len(episode.lengths) // policy.slices
    fitness = torch.full_like(episode.lengths, torch.nan, dtype=torch.float64)
    success = torch.zeros_like(episode.terminated)
    parts: dict[str, Tensor] = {}
    problems: dict[int, str] = {}
    for index in range(policy.slices):
        rows = slice(index * episodes, (index + 1) * episodes)
        try:
            measured = measure_episodes(task, episode.of_envs(rows))
        except TaskError as error:
            if lacks_memory(error.__cause__):
                raise
            problems[index] = error.message
            continue
        fitness[rows], success[rows] = measured.fitness, measured.success
        for name, values in measured.parts.items():
            parts.setdefault(name, torch.full_like(fitness, torch.nan))[rows] = values.double()
    return Evaluation(recording, fitness, success, parts, problems)


def evaluate_job(payload: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Measure the saved policies of slices in a `folder`: a worker job; return `slices`, one `PolicyMeasurement` each.

    The fitness of a slice is the mean over its last two policies, one evaluation phase apart: a single moment of a
    training that goes up and down says too little. All slices of a seed meet the same initial states.
    `payload` may have a folder `keep` for recorded episodes, `kinds` of policies, and ranges of the `physics`.
    """
    task = load_task(payload["task"])
    env, folder = task.make_envs([0], 1), Path(payload["folder"])
    policies: dict[SliceSpec, list[Policy]] = {}
    measured: dict[SliceSpec, PolicyMeasurement] = {}
    specs = [SliceSpec.model_validate(fields) for fields in payload["slices"]]
    for spec in specs:
        try:
            policies[spec] = _load(folder, spec, env, payload.get("kinds"))
        except RunFolderError as error:
            measured[spec] = PolicyMeasurement.failed(spec, error.message)
    try:
        measured |= _measure(task, policies, payload)
    except TaskError as error:
        if lacks_memory(error.__cause__):
            raise MemoryError(error.message) from error
        raise
    return {"slices": [measured[spec].model_dump(mode="json") for spec in specs]}


def _load(folder: Path, spec: SliceSpec, env: VecEnv, kinds: dict[str, str] | None) -> list[Policy]:
    """Return the final policy and the one before, if there is one; raise a RunFolderError if one cannot be used."""
    final, before = (folder / name for name in policy_names(spec))
    policies = [load_policy(path, kinds) for path in (final, before) if path == final or path.exists()]
    for policy in policies:
        if problem := misfit(policy, env):
            raise RunFolderError(problem)
    return policies


def _measure(
    task: Task, policies: dict[SliceSpec, list[Policy]], payload: dict[str, Any]
) -> dict[SliceSpec, PolicyMeasurement]:
    owners = [spec for spec, last in policies.items() for _ in last]
    if not owners:
        return {}
    episodes, keep = payload["episodes"], payload.get("keep")
    seeds = [derive_seed(payload["seed"], evaluation_starts(spec.seed)) for spec in owners]
    stack = side_by_side([policy for last in policies.values() for policy in last])
    envs = task.make_envs(seeds, episodes)
    if ranges := parse_ranges(payload.get("physics", ())):
        envs.vary(ranges)
    evaluation = evaluate(task, envs, stack)
    rows = envs.num_envs // len(seeds)  # a few more than asked for where several agents share an env
    measured = {}
    for spec in policies:
        indices = [index for index, owner in enumerate(owners) if owner == spec]
        if problems := [evaluation.problems[index] for index in indices if index in evaluation.problems]:
            measured[spec] = PolicyMeasurement.failed(spec, problems[0])
            continue
        spans = [slice(index * rows, index * rows + episodes) for index in indices]
        outcomes = tuple(outcome for span in spans for outcome in _outcomes(task, evaluation, span))
        final = evaluation.recording.episode.of_envs(spans[0])
        measured[spec] = PolicyMeasurement(
            **spec.model_dump(),
            fitness=_mean(evaluation.fitness, spans),
            success_rate=_mean(evaluation.success, spans) if task.has_success else None,
            parts={name: _mean(values, spans) for name, values in evaluation.parts.items()},
            outcomes=outcomes,
            ranges=_ranges(final),
            kept=_keep(final, outcomes[:episodes], Path(keep, episodes_name(spec))) if keep else (),
        )
    return measured


def _mean(values: Tensor, spans: list[slice]) -> float:
    """Mean over policies of the means over their episodes."""
    return sum(float(values[span].double().mean()) for span in spans) / len(spans)


def _outcomes(task: Task, evaluation: Evaluation, span: slice) -> tuple[EpisodeOutcome, ...]:
    episode = evaluation.recording.episode.of_envs(span)
    read = {signal.name: read_signal(episode, signal).tolist() for signal in task.signals}
    columns = zip(
        evaluation.fitness[span].tolist(),
        evaluation.success[span].tolist(),
        evaluation.recording.episode.lengths[span].tolist(),
        evaluation.recording.endings[span],
        strict=True,
    )
    return tuple(
        EpisodeOutcome(
            fitness=fitness,
            success=yes,
            steps=steps,
            ending=end,
            signals={name: values[index] for name, values in read.items()},
        )
        for index, (fitness, yes, steps, end) in enumerate(columns)
    )


def read_signal(episode: Episode, signal: Signal) -> Tensor:
    """Return the reading of a signal in each of E episodes, (E,); the worst possible number where it is not finite."""
    if signal.variable == TERMINATED:
        return episode.terminated.double()
    values, lived = episode[signal.variable].double(), episode.mask
    match signal.at:
        case "mean":
            reading = values.where(lived, 0.0).sum(0) / episode.lengths
        case "last":
            reading = episode.last(values)
        case "max":
            reading = values.where(lived, -torch.inf).amax(0)
        case "min":
            reading = values.where(lived, torch.inf).amin(0)
    return reading.where(reading.isfinite(), -_UNREAD if signal.better == "high" else _UNREAD)


def _ranges(episode: Episode) -> dict[str, tuple[Range, ...]]:
    """Range of each part of each variable over the steps lived, but for variables with a part that is never finite."""
    ranges = {}
    for name, values in episode.items():
        lived = values[episode.mask].double()
        parts = [part[part.isfinite()] for part in lived.reshape(len(lived), -1).T]
        if name not in ("action", *HIDDEN) and all(map(len, parts)):
            ranges[name] = tuple(map(_range, parts))
    return ranges


def _range(values: Tensor) -> Range:
    low, middle, high = (float(f"{value:.4g}") for value in values.quantile(_QUANTILES).tolist())
    return low, middle, high


def _keep(episode: Episode, outcomes: Sequence[EpisodeOutcome], path: Path) -> tuple[KeptEpisode, ...]:
    chosen = choose_episodes(torch.tensor([outcome.fitness for outcome in outcomes], dtype=torch.float64), _KEPT)
    write_atomic(path, pack_episodes(episode, chosen))
    return tuple(KeptEpisode(**outcomes[index].model_dump(exclude={"signals"})) for index in chosen)
