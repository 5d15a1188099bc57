"""The worker job that measures saved policies, of any kind, without loading any generated code."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rewardgen.core.errors import RunFolderError
from rewardgen.core.files import write_atomic
from rewardgen.sim.episodes import Episode
from rewardgen.sim.kept_episodes import choose_episodes, pack_episodes
from rewardgen.sim.vec_env import HIDDEN, VecEnv
from rewardgen.store.measurements import Outcome, Range
from rewardgen.store.records import KeptEpisode, SliceSpec
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.protocol import Task
from rewardgen.training.artifacts import episodes_name, policy_names
from rewardgen.training.evaluation import Evaluation, evaluate
from rewardgen.training.policies import Policy, load_policy, misfit, side_by_side
from rewardgen.training.protocol import POLICY_KINDS
from rewardgen.training.result_validation import Measured
from rewardgen.training.shared.seeding import derive_seed

_KEPT = 3
"""Episodes of a slice's final policy that are kept."""
_LEVELS = torch.tensor([0.05, 0.5, 0.95], dtype=torch.float64)
"""Quantiles of a range."""


def evaluate_job(payload: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Measure the saved policies of slices.

    The fitness of a slice is the mean over its last two policies, as two evaluation phases left them: a single moment
    of a training that goes up and down says too little. All candidates meet the same initial states.

    Args:
        payload: `task`, `folder` with the policy files, `slices`, `seed`, `episodes` per policy, and optionally the
            folder `keep` for files of episodes, and `kinds` of policies as in `POLICY_KINDS`.
        report: Not used.

    Returns:
        `slices`: one `Measured` each, with the fitness and success rate of its policies, how each of their episodes
        went, and ranges and kept episodes of the final one; or, if a policy file cannot be used, the `problem`.
        `wall_s`: how long all of it took [s].
    """
    began = time.perf_counter()
    torch.set_num_threads(1)
    for kind, target in payload.get("kinds", {}).items():
        if kind not in POLICY_KINDS:
            POLICY_KINDS.register(kind, target)
    task = load_task(payload["task"])
    one = task.make_envs([0], 1)
    found: dict[SliceSpec, list[Policy] | str] = {}
    for each in payload["slices"]:
        spec = SliceSpec.model_validate(each)
        found[spec] = _load(Path(payload["folder"]), spec, one)
    measured = _measure(task, {spec: each for spec, each in found.items() if not isinstance(each, str)}, payload)
    measured |= {
        spec: Measured(**spec.model_dump(), problem=each) for spec, each in found.items() if isinstance(each, str)
    }
    answers = [measured[spec].model_dump(mode="json") for spec in found]
    return {"slices": answers, "wall_s": time.perf_counter() - began}


def _load(folder: Path, spec: SliceSpec, env: VecEnv) -> list[Policy] | str:
    """The final policy of a slice, and the one before if there is one; or why one cannot be used."""
    final, before = (folder / name for name in policy_names(spec))
    try:
        policies = [load_policy(path) for path in (final, before) if path == final or path.exists()]
    except RunFolderError as error:
        return error.message
    return next(filter(None, (misfit(each, env) for each in policies)), None) or policies


def _measure(task: Task, policies: dict[SliceSpec, list[Policy]], payload: dict[str, Any]) -> dict[SliceSpec, Measured]:
    """What the policies of each slice reached, or why they cannot be measured."""
    owners = [spec for spec, own in policies.items() for _ in own]
    if not owners:
        return {}
    episodes = payload["episodes"]
    seeds = [derive_seed(payload["seed"], f"final evaluation {spec.seed}") for spec in owners]
    acting = side_by_side([policy for own in policies.values() for policy in own])
    envs = task.make_envs(seeds, episodes)
    found = evaluate(task, envs, acting)
    each = envs.num_envs // len(seeds)  # or a few more than asked for, where several agents play a game
    measured = {}
    for spec in policies:
        indices = [index for index, owner in enumerate(owners) if owner == spec]
        parts = [slice(index * each, index * each + episodes) for index in indices]
        problem = next((found.problems[index] for index in indices if index in found.problems), "")
        if problem:
            measured[spec] = Measured(**spec.model_dump(), problem=problem)
            continue
        outcomes = tuple(outcome for part in parts for outcome in _outcomes(found, part))
        final = found.recording.episode.of_envs(parts[0])
        measured[spec] = Measured(
            **spec.model_dump(),
            fitness=_mean(found.fitness, parts),
            success_rate=_mean(found.success, parts),
            parts={name: _mean(values, parts) for name, values in found.parts.items()},
            outcomes=outcomes,
            ranges=_ranges(final),
            kept=_keep(final, outcomes[:episodes], Path(payload["keep"], episodes_name(spec)))
            if payload.get("keep")
            else (),
        )
    return measured


def _mean(values: Tensor, parts: list[slice]) -> float:
    """Mean over a slice's policies of the means over their episodes."""
    return sum(float(values[part].double().mean()) for part in parts) / len(parts)


def _outcomes(found: Evaluation, part: slice) -> tuple[Outcome, ...]:
    """How each episode of a policy went."""
    each = zip(
        found.fitness[part].tolist(),
        found.success[part].tolist(),
        found.recording.episode.lengths[part].tolist(),
        found.recording.endings[part],
        strict=True,
    )
    return tuple(Outcome(fitness=fitness, success=yes, steps=steps, ending=end) for fitness, yes, steps, end in each)


def _ranges(episode: Episode) -> dict[str, tuple[Range, ...]]:
    """The range of each part of each variable over the steps lived; a variable with a part never finite has none."""
    found = {}
    for name, values in episode.items():
        lived = values[episode.mask].double()
        parts = [part[part.isfinite()] for part in lived.reshape(len(lived), -1).T]
        if name not in ("action", *HIDDEN) and all(map(len, parts)):
            found[name] = tuple(map(_range, parts))
    return found


def _range(values: Tensor) -> Range:
    low, middle, high = (float(f"{each:.4g}") for each in values.quantile(_LEVELS).tolist())
    return low, middle, high


def _keep(episode: Episode, outcomes: Sequence[Outcome], path: Path) -> tuple[KeptEpisode, ...]:
    """Keep some of the episodes of a policy, in a file."""
    chosen = choose_episodes(torch.tensor([each.fitness for each in outcomes], dtype=torch.float64), _KEPT)
    write_atomic(path, pack_episodes(episode, chosen))
    return tuple(KeptEpisode(**outcomes[each].model_dump()) for each in chosen)
