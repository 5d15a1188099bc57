"""Measures trained policies in worker processes that load no generated code.

A training's own claims of fitness are not believed: only its policy files are taken over, as copies.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from rewardgen.core.errors import MachineError, TaskError, WorkerError
from rewardgen.core.files import read_plain, write_atomic
from rewardgen.reward.observation import seen_besides
from rewardgen.sandbox.answers import clean
from rewardgen.sandbox.jobs import register
from rewardgen.sandbox.process import Limits, WorkerCancelled, run_worker
from rewardgen.store.measurements import STARTS
from rewardgen.store.records import RewardSpec, SliceFailure, SliceResult, SliceSpec, TrainerSettings
from rewardgen.store.run_folder import MOST_POLICY_BYTES
from rewardgen.tasks.measure import TASK_FILES
from rewardgen.training.artifacts import EVALUATION_SEED, episodes_name, evaluation_starts, policy_names
from rewardgen.training.protocol import POLICY_KINDS, TrainerSetup
from rewardgen.training.result_validation import PolicyMeasurement, measurements

ACT = register("act", "rewardgen.training.acting:act_job", reads=("folder",), inputs=TASK_FILES)
EVALUATE = register("evaluate", "rewardgen.training.evaluation:evaluate_job", reads=("folder",), inputs=TASK_FILES)

_MOST_EPISODES = 2000
"""Most episodes of one worker: all their steps are in memory."""


def evaluated(
    setup: TrainerSetup,
    results: Sequence[SliceResult],
    trained: Path,
    folder: Path,
    rewards: Mapping[str, RewardSpec],
    cancel: threading.Event | None = None,
) -> list[SliceResult]:
    """Add the measured fitness of their policies to the results of a training; failed ones stay as they are.

    `rewards` are those of the policies, by candidate. Copies policies from the folder `trained`, and measured ones with
    their episodes to `folder`. `setup.workers` processes measure. Raises as `measured_policies`.
    """
    policies = {
        result.spec: [trained / name for name in policy_names(result.spec)] for result in results if not result.failure
    }
    measured = measured_policies(setup, policies, rewards, cancel=cancel)
    concluded = [result if result.failure else _concluded(result, measured[result.spec]) for result in results]
    for result in concluded:
        for name, place in ((result.policy, "policies"), (result.episodes_file, "episodes")):
            if name:
                write_atomic(folder / name, read_plain(setup.scratch / place / name, setup.limits.file_bytes))
    return concluded


def measured_policies(
    setup: TrainerSetup,
    policies: Mapping[SliceSpec, Sequence[Path]],
    rewards: Mapping[str, RewardSpec],
    *,
    seed: int = EVALUATION_SEED,
    episodes: int = STARTS,
    physics: Sequence[str] = (),
    cancel: threading.Event | None = None,
) -> dict[SliceSpec, PolicyMeasurement]:
    """Measure stored policies in `setup.workers` processes, over a number of episodes each.

    Policies with the eyes of their reward act in processes of their own, which run generated code; then their
    actions are played again and measured in processes that load none.

    Args:
        setup: Arguments of a trainer; its limits are those of one policy.
        policies: Files of each slice: the final policy, then the one before, if it counts too.
        rewards: The rewards that they were trained with, by candidate.
        seed: Seed of the episodes' starts; by default that of runs.
        episodes: Episodes of each policy.
        physics: Ranges from which each episode draws its physics.
        cancel: Ends the workers when set, by a WorkerCancelled.

    Raises:
        MachineError: Memory is short: no fault of the policies.
        RewardgenError: The task cannot be simulated, or a file cannot be written.
    """
    copies, most = setup.scratch / "policies", min(MOST_POLICY_BYTES, setup.limits.file_bytes)
    problems = {spec: take_policies(spec, paths, copies, most) for spec, paths in policies.items()}
    measured = {spec: PolicyMeasurement.failed(spec, problem) for spec, problem in problems.items() if problem}
    specs = [spec for spec, problem in problems.items() if not problem]
    number = min(len(specs), max(setup.workers, -(-len(specs) * episodes // _MOST_EPISODES)))

    with_eyes = {id: reward for id, reward in rewards.items() if seen_besides(reward.source)}
    replays, common = setup.scratch / "replays", _common(setup.task, seed, episodes, physics)

    def measure(part: int) -> list[PolicyMeasurement]:
        mine, scratch = specs[part::number], setup.scratch / f"measure-{part}"
        seeing = [spec for spec in mine if spec.candidate_id in with_eyes]
        unable: dict[str, str] = {}
        for id in dict.fromkeys(spec.candidate_id for spec in seeing):
            own = [spec for spec in seeing if spec.candidate_id == id]
            plays = [
                Play(name, with_eyes[id], evaluation_starts(spec.seed))
                for spec in own
                for name in policy_names(spec)
                if (copies / name).exists()
            ]
            limits = limits_for(len(own), setup.limits, setup.settings)
            place = scratch / f"act-{id}"
            unable |= act(setup.task, plays, copies, replays, place, limits, seed, episodes, cancel, physics)
        problems = {spec: unable[name] for spec in seeing for name in policy_names(spec) if name in unable}
        able = [spec for spec in seeing if spec not in problems]
        groups = (copies, [spec for spec in mine if spec not in seeing]), (replays, able)
        return [PolicyMeasurement.failed(spec, problem) for spec, problem in problems.items()] + [
            measurement
            for folder, group in groups
            if group
            for measurement in _measured(setup, group, folder, scratch / folder.name, common, cancel)
        ]

    with ThreadPoolExecutor(setup.workers, thread_name_prefix="measure") as pool:
        measured |= {one.spec: one for part in pool.map(measure, range(number)) for one in part}
    return {spec: measured[spec] for spec in policies}


class Play(NamedTuple):
    """Episodes of one policy, by the name of its file, with the eyes of the reward that it was trained with."""

    file: str
    reward: RewardSpec
    starts: str
    """Purpose of the starts, from which their seed is derived."""


def act(
    task: str,
    plays: Sequence[Play],
    policies: Path,
    replays: Path,
    scratch: Path,
    limits: Limits,
    seed: int,
    episodes: int,
    cancel: threading.Event | None = None,
    physics: Sequence[str] = (),
) -> dict[str, str]:
    """Write the actions of policies in a folder to another, as files of the kind `replay`, under the same names.

    Returns the name of each file that is not written, with the reason why its policy cannot act. Raises as
    `measured_policies`.
    """
    played = [{**play._asdict(), "reward": play.reward.model_dump(mode="json")} for play in plays]
    payload = _common(task, seed, episodes, physics) | {"folder": str(policies), "plays": played}
    try:
        problems = run_worker(ACT, payload, limits=limits, scratch=scratch, cancel=cancel).get("problems")
    except WorkerCancelled:
        raise
    except (TaskError, WorkerError) as error:
        if isinstance(error, WorkerError) and error.kind == "memory":
            raise _short_of_memory(error) from error
        return {play.file: f"it cannot act: {error.message}" for play in plays}
    unable: dict[str, str] = {}
    for play in plays:
        reason = problems.get(play.file) if isinstance(problems, dict) else None
        if reason:
            unable[play.file] = f"it cannot act: {clean(reason)}"
            continue
        try:
            write_atomic(replays / play.file, read_plain(scratch / play.file, limits.file_bytes))
        except OSError as error:
            unable[play.file] = f"its actions cannot be read: {error.strerror or error}"
    return unable


def _common(task: str, seed: int, episodes: int, physics: Sequence[str]) -> dict[str, Any]:
    kinds = {kind: POLICY_KINDS.get(kind) for kind in POLICY_KINDS.names()}
    return {"task": task, "kinds": kinds, "seed": seed, "episodes": episodes, "physics": [*physics]}


def _short_of_memory(error: WorkerError) -> MachineError:
    hint = "free some memory, or use fewer `--workers`; what was finished is kept"
    return MachineError(f"there is no memory to measure a policy: {error.message}", hint)


def take_policies(spec: SliceSpec, paths: Sequence[Path], copies: Path, most: int) -> str:
    """Copy the policy files of a slice, of at most `most` bytes, to where no training worker can change them.

    Returns the reason why the final policy, the first of `paths`, cannot be used; empty if it can.
    """
    for path, name in zip(paths, policy_names(spec), strict=False):
        if path == paths[0] or os.path.lexists(path):
            try:
                content = read_plain(path, most)
            except OSError as error:
                return f"it cannot be read: {error.strerror or error}"
            write_atomic(copies / name, content)
    return ""


def _measured(
    setup: TrainerSetup,
    slices: list[SliceSpec],
    folder: Path,
    scratch: Path,
    common: dict[str, Any],
    cancel: threading.Event | None,
) -> list[PolicyMeasurement]:
    """Measure slices in one process or, if that fails, in one process each: a task may fail for one policy alone."""
    specs = [spec.model_dump() for spec in slices]
    payload = common | {"folder": str(folder), "slices": specs, "keep": str(scratch)}
    limits = limits_for(len(slices), setup.limits, setup.settings)
    try:
        answer = run_worker(EVALUATE, payload, limits=limits, scratch=scratch, cancel=cancel)
        measured = measurements(answer, slices, common["episodes"], setup.names)
    except WorkerCancelled:
        raise
    except (TaskError, WorkerError) as error:
        if len(slices) == 1 and isinstance(error, WorkerError) and error.kind == "memory":
            raise _short_of_memory(error) from error
        if len(slices) == 1:
            return [PolicyMeasurement.failed(slices[0], error.message)]
        places = {spec: scratch / f"{number}" for number, spec in enumerate(slices)}
        parts = (_measured(setup, [spec], folder, place, common, cancel) for spec, place in places.items())
        return [measurement for part in parts for measurement in part]
    for name in (episodes_name(measurement.spec) for measurement in measured if measurement.kept):
        write_atomic(setup.scratch / "episodes" / name, read_plain(scratch / name, setup.limits.file_bytes))
    return measured


def limits_for(slices: int, limits: Limits, settings: TrainerSettings) -> Limits:
    """Return the limits of a worker with several slices: time for each, and room for their answers."""
    # Each byte of an answer costs this process several.
    room = (1 << 20) + slices * ((128 << 10) + settings.evaluation_phases * (16 << 10))
    update = {"wall_s": limits.wall_s * slices, "answer_bytes": min(limits.answer_bytes, room)}
    return limits.model_copy(update=update)


def _concluded(result: SliceResult, measured: PolicyMeasurement) -> SliceResult:
    if measured.problem or measured.fitness is None:
        message = f"its policy could not be measured: {measured.problem}"
        failure = SliceFailure(kind="crash", message=message, env_steps=result.env_steps)
        return result.model_copy(update={"failure": failure, "policy": None})
    update = {
        "final_fitness": measured.fitness,
        "final_success_rate": measured.success_rate,
        "final_parts": measured.parts,
        "outcomes": measured.outcomes,
        "ranges": measured.ranges,
        "kept": measured.kept,
        "episodes_file": episodes_name(result) if measured.kept else None,
    }
    return result.model_copy(update=update)
