"""What was measured of tasks, and their recorded transitions, kept between runs in the user's cache folder.

What is kept is named by everything that it depends on, checked before it is used, and recorded again if anything is
wrong with it. Only workers that never see generated code write there; the ones that do get a copy.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rewardgen import __version__
from rewardgen.core.config import SandboxMode
from rewardgen.core.errors import RewardgenError, RunFolderError
from rewardgen.core.files import cache_folder, sweep_unfinished, write_atomic
from rewardgen.core.provenance import installed_version
from rewardgen.core.resources import PACKAGE
from rewardgen.core.schema import Frozen
from rewardgen.sandbox.jobs import register
from rewardgen.sandbox.process import Limits
from rewardgen.tasks.fingerprint import changed, digests
from rewardgen.tasks.loading import EXPERT_SUFFIX, resolve_task
from rewardgen.tasks.measure import MEASURE_TASK, MEASURING, TASK_FILES, MeasuredTask, measure
from rewardgen.training.setup import TRAINERS

RECORD_TRANSITIONS = register(
    "transitions", "rewardgen.training.expert_policy:transitions_job", writes=("path",), inputs=TASK_FILES
)
CHECK_TASK = register("check", "rewardgen.training.expert_policy:check_job", inputs=TASK_FILES)

_KEPT = 40
"""Tasks of which something is kept; those used longest ago go first."""
_PACKAGES = ("mujoco", "torch", "numpy", "gymnasium")
_LARGEST = 64 << 20
_DATA = (".csv", ".json", ".npy", ".npz", ".pt", ".py", ".toml", ".txt", ".yaml", ".yml")
"""Suffixes of files beside a task that it may read without saying so."""
_SOURCES = (
    "sim/*.py",
    "tasks/*.py",
    "training/expert_policy.py",
    "training/policies.py",
    *(f"training/ppo/{name}.py" for name in ("policy", "networks", "mlp", "normaliser")),
)
"""Our own modules that decide about the numbers, in the package's folder."""


class _Entry(Frozen):
    """What is kept of a task beside its transitions."""

    measured: MeasuredTask
    beside: dict[str, str]
    """Digests of further files that it may read."""


def check_task(task: str, sandbox: SandboxMode = "auto") -> dict[str, Any]:
    """Check a task file in a worker; what it finds is as `rewardgen.training.expert_policy.check_job` says.

    Args:
        task: Task reference; a path is absolute.
        sandbox: How the worker is confined.
    """
    limits = MEASURING.model_copy(update={"sandbox": sandbox})
    return measure(CHECK_TASK, {"task": task, "trainers": TRAINERS.names()}, limits)


def get_or_measure(task: str, limits: Limits = MEASURING, *, with_transitions: bool = False) -> MeasuredTask:
    """A task as it was measured before, or measured now.

    Args:
        task: Task reference; a path is absolute.
        limits: Of the worker that measures it.
        with_transitions: Whether to record its transitions on the way, for a `get_or_record_transitions` to come.

    Raises:
        TaskError: The task cannot be simulated.
    """
    place = _place(task)
    if place is not None:
        with suppress(OSError, RunFolderError):  # a full disk, or a folder that others clear
            kept, transitions = _kept(place), place.with_suffix(".npz")
            if kept is None or (with_transitions and not _is_whole(transitions)):
                _forget(place)
                kept = _recorded(task, transitions, limits) if with_transitions else _measured(task, limits)
                _keep(place, kept)
            return kept
    return _measured(task, limits)


def get_or_record_transitions(task: str, path: Path, limits: Limits = MEASURING) -> MeasuredTask:
    """Put a task's transitions at a path: a copy of those that are kept, or fresh ones.

    Args:
        task: Task reference; a path is absolute.
        path: Where to put them.
        limits: Of the worker that records them.

    Returns:
        The task as it was measured.

    Raises:
        TaskError: The task cannot be simulated.
        RunFolderError: The path cannot be written.
    """
    place = _place(task)
    if place is not None:
        known = get_or_measure(task, limits, with_transitions=True)
        with suppress(OSError):
            write_atomic(path, place.with_suffix(".npz").read_bytes())
            return known
    return _recorded(task, path.resolve(), limits)


def _measured(task: str, limits: Limits) -> MeasuredTask:
    return MeasuredTask.model_validate(measure(MEASURE_TASK, {"task": task}, limits))


def _recorded(task: str, path: Path, limits: Limits) -> MeasuredTask:
    return MeasuredTask.model_validate(measure(RECORD_TRANSITIONS, {"task": task, "path": str(path)}, limits))


def sweep_cache() -> list[Path]:
    """Remove what killed processes have left unfinished among what is kept; what was removed."""
    with suppress(RuntimeError):
        names = ("transitions", "baselines")
        return [path for name in names for path in sweep_unfinished(cache_folder(name), shared=True)]
    return []


def _place(task: str) -> Path | None:
    """The file in which a task's measurements are kept, beside the transitions; None if there is no folder for it."""
    try:
        folder = cache_folder("transitions")
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    path = resolve_task(task)
    name = hashlib.sha256("\0".join((task, *digests([path]).values(), *code(_SOURCES))).encode()).hexdigest()[:20]
    return folder.resolve() / f"{path.stem}-{name}.json" if os.access(folder, os.W_OK) else None


def code(sources: Sequence[str]) -> Iterator[str]:
    """What else decides about measured numbers: the versions of the packages, and the source of our own modules.

    Args:
        sources: Patterns of the modules, in the package's folder.
    """
    yield from (__version__, *(installed_version(package) or "" for package in _PACKAGES))
    yield from digests(path for each in sources for path in sorted(PACKAGE.glob(each))).values()


def _kept(place: Path) -> MeasuredTask | None:
    """What is kept, if every file that it was measured from is as it was."""
    try:
        entry = _Entry.model_validate_json(place.read_bytes())
    except (OSError, ValidationError, RewardgenError):
        return None
    if changed(entry.measured.files | entry.beside):
        return None
    with suppress(OSError):
        os.utime(place)
    return entry.measured


def _keep(place: Path, measured: MeasuredTask) -> None:
    write_atomic(place, _Entry(measured=measured, beside=beside(measured.card.reference)).model_dump_json())
    entries = sorted(place.parent.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    for each in entries[_KEPT:]:
        _forget(each)


def beside(task: str) -> dict[str, str]:
    """Path to hash of the files in a task's folder that it may read without saying so."""
    return digests(path for path in resolve_task(task).parent.iterdir() if _is_data(path))


def _is_data(path: Path) -> bool:
    """Whether a file beside a task may be read by it. What cannot be read, or only at length, is nobody's data.

    Expert policies are read for their own task only.
    """
    try:
        if path.name.endswith(EXPERT_SUFFIX):
            return False
        return path.suffix in _DATA and path.is_file() and path.stat().st_size <= _LARGEST and os.access(path, os.R_OK)
    except OSError:
        return False


def _is_whole(path: Path) -> bool:
    """Whether every array in the file has the checksum that it was written with."""
    try:
        with zipfile.ZipFile(path) as file:
            return bool(file.namelist()) and file.testzip() is None
    except Exception:  # a damaged archive raises nearly anything
        return False


def _forget(place: Path) -> None:
    for each in (place, place.with_suffix(".npz")):
        each.unlink(missing_ok=True)
