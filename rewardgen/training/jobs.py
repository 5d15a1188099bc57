"""The training jobs of worker processes: training with rewards, and measuring policies without any."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch

from rewardgen.core.errors import RunFolderError
from rewardgen.core.files import write_atomic
from rewardgen.sim.kept_episodes import choose_episodes, pack_episodes
from rewardgen.store.records import KeptEpisode, SliceSpec, TrainJob
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.protocol import Task
from rewardgen.training.artifacts import episodes_name, policy_names
from rewardgen.training.evaluation import Evaluation, evaluate
from rewardgen.training.ppo.batch import Report, SliceBatch
from rewardgen.training.ppo.networks import Sizes
from rewardgen.training.ppo.policy_file import SavedPolicy, load_policy, stack_policies
from rewardgen.training.ppo.seeding import derive_seed

_KEPT = 3
"""Episodes of a slice's final policy that are kept."""


class _Rates(NamedTuple):
    """Means over the episodes of one policy, and those of its episodes that were kept."""

    fitness: float
    success: float
    kept: list[KeptEpisode]


def train_job(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """Train all slices of one job in one batch.

    Args:
        payload: A `TrainJob`.
        report: Called with the progress of each slice at each evaluation.

    Returns:
        `slices`: one `SliceResult` per slice, without the final fitness.
    """
    torch.set_num_threads(1)
    job = TrainJob.model_validate(payload)
    results = SliceBatch(load_task(job.task), job, report).run()
    return {"slices": [result.model_dump(mode="json") for result in results]}


def evaluate_job(payload: dict[str, Any], report: Report) -> dict[str, Any]:
    """Measure the saved policies of slices. Loads no generated code.

    The fitness of a slice is the mean over its last two policies, as two evaluation phases left them: a single moment
    of a training that goes up and down says too little. All candidates meet the same initial states.

    Args:
        payload: `task`, `folder` with the policy files, `slices`, `hidden` as the policies were trained with, `seed`,
            `episodes` per policy, and optionally the folder `keep` for files of episodes.
        report: Not used.

    Returns:
        `slices`: candidate_id, seed, and fitness, success_rate and `kept` episodes of the final policy or, if a policy
        file cannot be used, `problem`. `wall_s`: how long all of it took [s].
    """
    began = time.perf_counter()
    torch.set_num_threads(1)
    task = load_task(payload["task"])
    world = task.make_envs([0], 1)
    sizes = Sizes(world.observation_size, world.action_size, tuple(payload["hidden"]))
    slices = [SliceSpec.model_validate(each) for each in payload["slices"]]
    loaded = [_load(Path(payload["folder"]), each, sizes) for each in slices]
    policies = [(each, policy) for each, found in zip(slices, loaded, strict=True) for policy in _sound(found)]
    measured: dict[SliceSpec, list[_Rates | str]] = {}
    if policies:
        rates = _measure(task, policies, payload["seed"], payload["episodes"], payload.get("keep"))
        for (owner, _), rate in zip(policies, rates, strict=True):
            measured.setdefault(owner, []).append(rate)
    answers = [_answer(each, found, measured) for each, found in zip(slices, loaded, strict=True)]
    return {"slices": answers, "wall_s": time.perf_counter() - began}


def _load(folder: Path, spec: SliceSpec, sizes: Sizes) -> list[SavedPolicy] | RunFolderError:
    """The final policy of a slice, and the one before if there is one."""
    final, before = (folder / name for name in policy_names(spec))
    try:
        return [load_policy(path, sizes) for path in (final, before) if path == final or path.exists()]
    except RunFolderError as error:
        return error


def _sound(found: list[SavedPolicy] | RunFolderError) -> list[SavedPolicy]:
    return [] if isinstance(found, RunFolderError) else found


def _measure(
    task: Task, policies: list[tuple[SliceSpec, SavedPolicy]], seed: int, episodes: int, keep: str | None
) -> list[_Rates | str]:
    """What every policy reached, or why it cannot be measured."""
    seeds = [derive_seed(seed, f"final evaluation {owner.seed}") for owner, _ in policies]
    found = evaluate(task, task.make_envs(seeds, episodes), stack_policies([policy for _, policy in policies]))
    rates: list[_Rates | str] = []
    kept_for: set[SliceSpec] = set()  # the first policy of a slice is its final one
    for index, (owner, _) in enumerate(policies):
        part = slice(index * episodes, (index + 1) * episodes)
        if index in found.problems:
            rates.append(found.problems[index])
            continue
        wanted = keep is not None and owner not in kept_for
        kept = _keep(found, part, Path(keep or "", episodes_name(owner))) if wanted else []
        kept_for.add(owner)
        rates.append(_Rates(float(found.fitness[part].mean()), float(found.success[part].double().mean()), kept))
    return rates


def _keep(found: Evaluation, part: slice, path: Path) -> list[KeptEpisode]:
    """Keep some of the episodes of a policy, in a file."""
    fitness, success = found.fitness[part], found.success[part]
    episode = found.recording.episode.of_worlds(part)
    chosen = choose_episodes(fitness, _KEPT)
    write_atomic(path, pack_episodes(episode, chosen))
    return [
        KeptEpisode(fitness=float(fitness[each]), success=bool(success[each]), steps=int(episode.lengths[each]))
        for each in chosen
    ]


def _answer(
    spec: SliceSpec, found: list[SavedPolicy] | RunFolderError, measured: Mapping[SliceSpec, list[_Rates | str]]
) -> dict[str, Any]:
    if isinstance(found, RunFolderError):
        return {**spec.model_dump(), "problem": found.message}
    rates = [each for each in measured[spec] if isinstance(each, _Rates)]
    if len(rates) < len(found):
        return {**spec.model_dump(), "problem": next(each for each in measured[spec] if isinstance(each, str))}
    fitness, success_rate = (sum(values) / len(rates) for values in list(zip(*rates, strict=True))[:2])
    kept = [each.model_dump() for each in rates[0].kept]
    return {**spec.model_dump(), "fitness": fitness, "success_rate": success_rate, "kept": kept}
