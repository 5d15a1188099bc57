"""What is to be trained or measured: a task, a run, or one of a run's candidates."""

from __future__ import annotations

from pathlib import Path

from rewardgen.api.runs import Candidate, Run
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

Named = str | Path | Run | Candidate
"""A run by `RUN`, or one of its rewards by `RUN:CANDIDATE`; or what Python has of it."""


def require_whole(what: str, given: object, least: int, most: int | None = None) -> None:
    """Raises for what is no whole number within limits.

    Args:
        what: Of what it is the number, in the plural.
        given: By a user.
        least: The lowest allowed.
        most: The highest allowed, if there is one.

    Raises:
        UsageError: It is none.
    """
    if isinstance(given, bool) or not isinstance(given, int) or given < least or (most and given > most):
        raise UsageError(f"{given} {what}", f"between {least} and {most}" if most else f"at least {least}")


def is_task(named: Named) -> bool:
    """Whether a task is named, not a run."""
    if isinstance(named, Run | Candidate) or (Path(named) / EVENTS).is_file():
        return False
    return names_task(str(named))


def referred(named: Named, runs_dir: Path) -> Reference:
    """The run, and the candidate if there is one, that is named.

    Raises:
        RunFolderError: No run, or more than one, fits; or it has not begun, or cannot be read.
        UsageError: The run has no such candidate.
    """
    if isinstance(named, Candidate):
        found = Reference(named.folder, named.history, named.id)
    elif isinstance(named, Run):
        found = Reference(named.folder, named.history)
    else:
        found = find_reference(str(named), runs_dir)
    if found.history.config is None:
        raise RunFolderError(f"run {found.folder.id} has not begun", "take another run")
    return found


def setup_of(history: History, scratch: Path, workers: int | None, task: str = "") -> TrainerSetup:
    """What the workers of a run are made of, for policies of it.

    Args:
        history: What is known of the run.
        scratch: Their folder.
        workers: How many; the CPU cores if not given.
        task: Another task than the run's, whose names are not known.
    """
    config, training, card = history.config, history.training, history.card
    assert config is not None and training is not None and card is not None
    settings = TRAINERS.get(training.trainer).settings.model_validate(training.settings)
    return TrainerSetup(
        task=task or config.task,
        settings=settings,
        workers=workers or usable_cores(),
        scratch=scratch,
        limits=limits_of(history),
        names=None if task else TaskNames.of(card),
    )


def limits_of(history: History) -> Limits:
    """Limits of the workers of a run."""
    assert history.config is not None
    return Limits(wall_s=history.config.slice_timeout_s, sandbox=history.sandbox)
