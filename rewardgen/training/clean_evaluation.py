"""Clean evaluation: the fitness of trained policies, from a worker process that loads no generated code.

Nothing that a training says of its own fitness is believed: only the policy files that it left are taken over.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from rewardgen.core.errors import TaskError, WorkerError
from rewardgen.core.files import read_plain, write_atomic
from rewardgen.sandbox.jobs import register
from rewardgen.sandbox.process import Limits, WorkerCancelled, run_worker
from rewardgen.store.measurements import STARTS
from rewardgen.store.records import SliceFailure, SliceResult, SliceSpec, TrainerSettings
from rewardgen.store.run_files import MOST_POLICY_BYTES
from rewardgen.tasks.measure import TASK_FILES
from rewardgen.training.artifacts import episodes_name, take_policies
from rewardgen.training.protocol import POLICY_KINDS, TrainerSetup
from rewardgen.training.result_validation import Measured, measurements

EVALUATE = register("evaluate", "rewardgen.training.evaluate_job:evaluate_job", reads=("folder",), inputs=TASK_FILES)

_EVALUATION_SEED = 0


def evaluated(
    setup: TrainerSetup,
    results: Sequence[SliceResult],
    left: Path,
    *,
    folder: Path,
    scratch: Path,
    cancel: threading.Event | None = None,
) -> list[SliceResult]:
    """The results of a training with the fitness of their policies; those that failed stay as they are.

    Args:
        setup: The trainer's.
        results: Of the training.
        left: Where it left the policies, under `policy_names`.
        folder: Where the final policies are kept, and the episodes that were recorded with them.
        scratch: An own folder.
        cancel: Ends the worker when set.

    Raises:
        WorkerCancelled: `cancel` was set.
        RewardgenError: The task cannot be simulated, or a file cannot be written.
    """
    most = min(MOST_POLICY_BYTES, setup.limits.file_bytes)
    specs = [each.spec for each in results if not each.failure]
    problems = {spec: take_policies(spec, left, scratch / "policies", most) for spec in specs}
    found = {spec: Measured(**spec.model_dump(), problem=problem) for spec, problem in problems.items()}
    sound = [spec for spec, problem in problems.items() if not problem]
    found |= {each.spec: each for each in _measured(setup, sound, scratch, cancel)} if sound else {}
    concluded = [each if each.failure else _concluded(each, found[each.spec]) for each in results]
    for each in concluded:
        for name, place in ((each.policy, "policies"), (each.episodes_file, "evaluate")):
            if name:
                write_atomic(folder / name, read_plain(scratch / place / name, setup.limits.file_bytes))
    return concluded


def _measured(
    setup: TrainerSetup, slices: list[SliceSpec], scratch: Path, cancel: threading.Event | None
) -> list[Measured]:
    """Measurements of slices: in one process or, if that fails, one for each. Nothing is trained again.

    A task whose code raises in a state that one policy reaches has no fitness for that policy alone.
    """
    payload = {
        "task": setup.task,
        "folder": str(scratch / "policies"),
        "slices": [each.model_dump() for each in slices],
        "kinds": {kind: POLICY_KINDS.get(kind) for kind in POLICY_KINDS.names()},
        "seed": _EVALUATION_SEED,
        "episodes": STARTS,
        "keep": str(scratch / "evaluate"),
    }
    limits = limits_for(len(slices), setup.limits, setup.settings)
    try:
        answer = run_worker(EVALUATE, payload, limits=limits, scratch=scratch / "evaluate", cancel=cancel)
        return measurements(answer, slices, STARTS, setup.names)
    except WorkerCancelled:
        raise
    except (TaskError, WorkerError) as error:
        if len(slices) == 1:
            return [Measured(**slices[0].model_dump(), problem=error.message)]
    return [measured for each in slices for measured in _measured(setup, [each], scratch, cancel)]


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
