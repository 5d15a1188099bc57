"""Resolve the target of a training or measurement: a task, a run, or a candidate of a run."""

from __future__ import annotations

from pathlib import Path

from rewardgen.api.runs import Run, RunCandidate
from rewardgen.core.errors import RunFolderError, UsageError
from rewardgen.core.provenance import usable_cores
from rewardgen.sandbox.process import Limits
from rewardgen.store.history import History
from rewardgen.store.run_folder import EVENTS
from rewardgen.tasks.loading import names_task
from rewardgen.training.protocol import TRAINERS, TrainerSetup
from rewardgen.training.result_validation import TaskNames
from rewardgen.training.setup import DEFAULT_TRAINER  # noqa: F401  (it registers the trainers)
from rewardgen.view.reference import Reference, find_reference

Named = str | Path | Run | RunCandidate
"""`RUN`, `RUN:CANDIDATE`, or an object of this package."""


def require_whole(noun: str, value: object, least: int, most: int | None = None) -> None:
    """Reject anything but a whole number within limits.

    Args:
        noun: Counted thing, in the plural.
        value: Number from the user.
        least: Lowest allowed number.
        most: Highest allowed number, if limited.

    Raises:
        UsageError: The value is not such a number.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least or (most and value > most):
        raise UsageError(f"{value} {noun}", f"between {least} and {most}" if most else f"at least {least}")


def is_task(named: Named) -> bool:
    """Return True if the name is a task's, not a run's."""
    if isinstance(named, Run | RunCandidate) or (Path(named) / EVENTS).is_file():
        return False
    return names_task(str(named))


def referred(named: Named, runs_dir: Path) -> Reference:
    """Resolve a run and the candidate, if one is named.

    Raises:
        RunFolderError: No run or several runs match; or the run has not begun or cannot be read.
        UsageError: The run has no such candidate.
    """
    if isinstance(named, RunCandidate):
        reference = Reference(named.folder, named.history, named.id)
    elif isinstance(named, Run):
        reference = Reference(named.folder, named.history)
    else:
        reference = find_reference(str(named), runs_dir)
    if reference.history.config is None:
        raise RunFolderError(f"run {reference.folder.id} has not begun", "name another run")
    return reference


def setup_of(history: History, scratch: Path, workers: int | None) -> TrainerSetup:
    """Build the worker setup of a run, to measure its policies.

    Args:
        history: History of the run.
        scratch: Folder for the workers.
        workers: Number of processes; default: the CPU cores.
    """
    config, training, card = history.config, history.training, history.card
    assert config is not None and training is not None and card is not None
    settings = TRAINERS.get(training.trainer).settings.model_validate(training.settings)
    return TrainerSetup(
        task=config.task,
        settings=settings,
        workers=workers or usable_cores(),
        scratch=scratch,
        limits=limits_of(history),
        names=TaskNames.of(card),
    )


def limits_of(history: History) -> Limits:
    """Return the worker limits of a run."""
    assert history.config is not None
    return Limits(wall_s=history.config.slice_timeout_s, sandbox=history.sandbox)
