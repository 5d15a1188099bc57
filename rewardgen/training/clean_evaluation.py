"""Clean evaluation: the fitness of trained policies, from a worker process that loads no generated code.

Nothing that a training says of its own fitness is believed: only the policy files that it left are taken over.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rewardgen.core.errors import TaskError, WorkerError
from rewardgen.core.files import read_plain, write_atomic
from rewardgen.sandbox.jobs import register
from rewardgen.sandbox.process import Limits, WorkerCancelled, run_worker
from rewardgen.store.measurements import STARTS
from rewardgen.store.records import SliceFailure, SliceResult, SliceSpec, TrainerSettings
from rewardgen.store.run_files import MOST_POLICY_BYTES
from rewardgen.tasks.measure import TASK_FILES
from rewardgen.training.artifacts import episodes_name, policy_names, take_policies
from rewardgen.training.protocol import POLICY_KINDS, TrainerSetup
from rewardgen.training.result_validation import Measured, measurements

EVALUATE = register("evaluate", "rewardgen.training.evaluate_job:evaluate_job", reads=("folder",), inputs=TASK_FILES)

_EVALUATION_SEED = 0
_MOST_EPISODES = 2000
"""Of one process at once: all of their steps are in memory."""


def evaluated(
    setup: TrainerSetup,
    results: Sequence[SliceResult],
    left: Path,
    *,
    folder: Path,
    scratch: Path,
    processes: int = 1,
    cancel: threading.Event | None = None,
) -> list[SliceResult]:
    """The results of a training with the fitness of their policies; those that failed stay as they are.

    Args:
        setup: The trainer's.
        results: Of the training.
        left: Where it left the policies, under `policy_names`.
        folder: Where the final policies are kept, and the episodes that were recorded with them.
        scratch: An own folder.
        processes: Over how many the policies are spread.
        cancel: Ends the workers when set.

    Raises:
        WorkerCancelled: `cancel` was set.
        RewardgenError: The task cannot be simulated, or a file cannot be written.
    """
    most = min(MOST_POLICY_BYTES, setup.limits.file_bytes)
    specs = [each.spec for each in results if not each.failure]
    problems = {spec: take_policies(spec, left, scratch / "policies", most) for spec in specs}
    found = {spec: Measured(**spec.model_dump(), problem=problem) for spec, problem in problems.items()}
    sound = [spec for spec, problem in problems.items() if not problem]
    parts = [sound[number::processes] for number in range(min(processes, len(sound)))]

    def measure(number: int) -> list[Measured]:
        return _measured(setup, parts[number], scratch / "policies", scratch / f"{number}", cancel)

    with ThreadPoolExecutor(processes, thread_name_prefix="measure") as pool:
        for batch in pool.map(measure, range(len(parts))):
            found |= {each.spec: each for each in batch}
    places = {spec: scratch / f"{number}" / "evaluate" for number, part in enumerate(parts) for spec in part}
    concluded = [each if each.failure else _concluded(each, found[each.spec]) for each in results]
    for each in concluded:
        if each.policy:
            write_atomic(folder / each.policy, read_plain(scratch / "policies" / each.policy, setup.limits.file_bytes))
        if each.episodes_file:
            kept = places[each.spec] / each.episodes_file
            write_atomic(folder / each.episodes_file, read_plain(kept, setup.limits.file_bytes))
    return concluded


def measured_policies(
    setup: TrainerSetup, policies: Mapping[SliceSpec, Path], *, seed: int = _EVALUATION_SEED, episodes: int = STARTS
) -> dict[SliceSpec, Measured]:
    """Measure stored policies, in as many processes as the trainer has.

    Args:
        setup: A trainer's: the task, limits of one policy, and how many processes.
        policies: The file of each.
        seed: Of the episodes' starts; by default they are those of a run.
        episodes: Of each policy.

    Returns:
        What each reached; where one cannot be measured, the `problem`.

    Raises:
        RewardgenError: The task cannot be simulated, or a file cannot be written.
    """
    most = min(MOST_POLICY_BYTES, setup.limits.file_bytes)
    found: dict[SliceSpec, Measured] = {}
    for spec, path in policies.items():
        try:
            write_atomic(setup.scratch / "policies" / policy_names(spec)[0], read_plain(path, most))
        except OSError as error:
            found[spec] = Measured(**spec.model_dump(), problem=f"it cannot be read: {error.strerror or error}")
    specs = [spec for spec in policies if spec not in found]
    share = min(-(-len(specs) // setup.workers), max(1, _MOST_EPISODES // episodes))
    batches = [specs[first : first + share] for first in range(0, len(specs), share or 1)]

    def measure(number: int) -> list[Measured]:
        own = setup.scratch / f"measure-{number}"
        return _measured(setup, batches[number], setup.scratch / "policies", own, None, seed, episodes)

    with ThreadPoolExecutor(setup.workers, thread_name_prefix="measure") as pool:
        for batch in pool.map(measure, range(len(batches))):
            found |= {each.spec: each for each in batch}
    return {spec: found[spec] for spec in policies}


def _measured(
    setup: TrainerSetup,
    slices: list[SliceSpec],
    policies: Path,
    scratch: Path,
    cancel: threading.Event | None,
    seed: int = _EVALUATION_SEED,
    episodes: int = STARTS,
) -> list[Measured]:
    """Measurements of slices: in one process or, if that fails, one for each. Nothing is trained again.

    A task whose code raises in a state that one policy reaches has no fitness for that policy alone.
    """
    payload = {
        "task": setup.task,
        "folder": str(policies),
        "slices": [each.model_dump() for each in slices],
        "kinds": {kind: POLICY_KINDS.get(kind) for kind in POLICY_KINDS.names()},
        "seed": seed,
        "episodes": episodes,
        "keep": str(scratch / "evaluate"),
    }
    limits = limits_for(len(slices), setup.limits, setup.settings)
    try:
        answer = run_worker(EVALUATE, payload, limits=limits, scratch=scratch / "evaluate", cancel=cancel)
        return measurements(answer, slices, episodes, setup.names)
    except WorkerCancelled:
        raise
    except (TaskError, WorkerError) as error:
        if len(slices) == 1:
            return [Measured(**slices[0].model_dump(), problem=error.message)]
    return [
        measured for each in slices for measured in _measured(setup, [each], policies, scratch, cancel, seed, episodes)
    ]


def limits_for(slices: int, limits: Limits, settings: TrainerSettings) -> Limits:
    """The limits of a worker that has so many slices: time for each, and room for all that there may be to say.

    Args:
        slices: How many.
        limits: Of one slice; what a worker may answer at most.
        settings: Settings of the training.
    """
    # Each byte of an answer costs this process several.
    room = (1 << 20) + slices * ((128 << 10) + settings.evaluation_phases * (16 << 10))
    update = {"wall_s": limits.wall_s * slices, "answer_bytes": min(limits.answer_bytes, room)}
    return limits.model_copy(update=update)


def _concluded(result: SliceResult, measured: Measured) -> SliceResult:
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
