"""Banks of transitions and task cards, kept between runs in the user's cache folder.

What is kept is named by everything that it depends on, checked before it is used, and recorded again if anything is
wrong with it. Only workers that never see generated code write there; the ones that do get a copy.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pydantic import ValidationError

from rewardgen.core.errors import RewardgenError, RunFolderError
from rewardgen.core.files import write_atomic
from rewardgen.core.resources import PACKAGE
from rewardgen.core.schema import Frozen
from rewardgen.sandbox.jobs import register
from rewardgen.sandbox.process import Limits
from rewardgen.store.records import TaskCard
from rewardgen.tasks.loading import EXPERT_SUFFIX, expert_file, resolve_task
from rewardgen.tasks.measure import CARD, TASK_FILES, measure

RECORD_TRANSITIONS = register(
    "transitions", "rewardgen.training.expert_policy:transitions_job", writes=("path",), inputs=TASK_FILES
)
CHECK_TASK = register("check", "rewardgen.training.expert_policy:check_job", inputs=TASK_FILES)

_KEPT = 40
"""Tasks whose banks are kept; those used longest ago go first."""
_PACKAGES = ("mujoco", "torch", "numpy", "gymnasium")
_LARGEST = 64 << 20
_DATA = (".csv", ".json", ".npy", ".npz", ".pt", ".py", ".toml", ".txt", ".yaml", ".yml")
"""Suffixes of files beside a task that it may read without saying so."""
_SUFFIXES = (".npz", ".files.json", ".card.json")
_SOURCES = (
    "sim/*.py",
    "tasks/*.py",
    "training/expert_policy.py",
    "training/policies.py",
    *(f"training/ppo/{name}.py" for name in ("policy", "networks", "mlp", "normaliser")),
)
"""Our own modules that decide about the numbers, in the package's folder."""


class _Files(Frozen):
    """The files and folders besides the task's own that a bank depends on: path to SHA-256."""

    digests: dict[str, str]


def get_or_record_transitions(task: str, path: Path, limits: Limits) -> None:
    """Put a task's bank of transitions at a path: a copy of the one that is kept, or a fresh one.

    Args:
        task: Task reference.
        path: Where to put it.
        limits: Of the worker that records it.

    Raises:
        TaskError: The task cannot be simulated.
        RunFolderError: The path cannot be written.
    """
    kept = _kept(task, limits)
    if kept is None:
        measure(RECORD_TRANSITIONS, {"task": task, "path": str(path.resolve())}, limits)
    else:
        write_atomic(path, kept)


def get_or_measure_card(task: str, limits: Limits) -> TaskCard:
    """A task's card as it was measured for its bank, or measured now.

    Args:
        task: Task reference.
        limits: Of the worker that measures it.

    Raises:
        TaskError: The task cannot be simulated.
    """
    stem = _stem(task)
    path = stem.with_name(f"{stem.name}.card.json") if stem else None
    if stem and path and _is_current(stem):
        with suppress(OSError, ValidationError, RewardgenError):
            return TaskCard.model_validate_json(path.read_bytes())
    card = TaskCard.model_validate(measure(CARD, {"task": task}, limits)["card"])
    if path:
        with suppress(RewardgenError):  # a full disk is no reason not to answer
            write_atomic(path, card.model_dump_json())
    return card


def _kept(task: str, limits: Limits) -> bytes | None:
    """The bank that is kept, after recording it if there is no sound one; None if nothing can be kept here."""
    stem = _stem(task)
    if stem is None:
        return None
    bank = stem.with_name(f"{stem.name}.npz")
    with suppress(OSError, RunFolderError):  # a full disk, or a folder that others clear
        if not (_is_current(stem) and _is_whole(bank)):
            _forget(stem)
            files = measure(RECORD_TRANSITIONS, {"task": task, "path": str(bank)}, limits)["files"]
            files += [str(path) for path in resolve_task(task).parent.iterdir() if _is_data(path)]
            note = _Files(digests={each: _digest(Path(each)) for each in files})
            write_atomic(stem.with_name(f"{stem.name}.files.json"), note.model_dump_json())
            _prune(stem.parent)
        os.utime(bank)
        return bank.read_bytes()
    return None


def _is_data(path: Path) -> bool:
    """Whether a file beside a task may be read by it. What cannot be read, or only at length, is nobody's data.

    Expert policies are read for their own task only, whose name here they are part of.
    """
    try:
        if path.name.endswith(EXPERT_SUFFIX):
            return False
        return path.suffix in _DATA and path.is_file() and path.stat().st_size <= _LARGEST and os.access(path, os.R_OK)
    except OSError:
        return False


def _stem(task: str) -> Path | None:
    """Where everything of a task is kept, without the suffix; None if there is no folder for it."""
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME", ""))
        folder = (base if base.is_absolute() else Path.home() / ".cache") / "rewardgen" / "banks"
        folder.mkdir(parents=True, exist_ok=True)
        path = resolve_task(task)
        digest = hashlib.sha256(path.read_bytes())
        if expert_file(path).is_file():
            digest.update(expert_file(path).read_bytes())
    except (OSError, RuntimeError):
        return None
    for part in (task, *_code()):
        digest.update(f"{part}\0".encode())
    return folder.resolve() / f"{path.stem}-{digest.hexdigest()[:20]}" if os.access(folder, os.W_OK) else None


def _code() -> Iterator[str]:
    """What else decides about the numbers: the versions of the packages, and the source of our own modules."""
    for package in _PACKAGES:
        try:
            yield version(package)
        except PackageNotFoundError:
            yield ""
    for path in (path for each in _SOURCES for path in sorted(PACKAGE.glob(each))):
        yield _digest(path)


def _digest(path: Path) -> str:
    """Hash of a file, or of all files in a folder with their names."""
    if not path.is_dir():
        return hashlib.sha256(path.read_bytes()).hexdigest()
    inside = sorted(each for each in path.rglob("*") if each.is_file())
    return hashlib.sha256("".join(f"{each}\0{_digest(each)}\0" for each in inside).encode()).hexdigest()


def _is_current(stem: Path) -> bool:
    """Whether the model files are as they were."""
    try:
        note = _Files.model_validate_json(stem.with_name(f"{stem.name}.files.json").read_bytes())
        return all(_digest(Path(path)) == digest for path, digest in note.digests.items())
    except (OSError, ValidationError, RewardgenError):
        return False


def _is_whole(bank: Path) -> bool:
    """Whether every array in the file has the checksum that it was written with."""
    try:
        with zipfile.ZipFile(bank) as file:
            return bool(file.namelist()) and file.testzip() is None
    except Exception:  # a damaged archive raises nearly anything
        return False


def _forget(stem: Path) -> None:
    for suffix in _SUFFIXES:
        stem.with_name(f"{stem.name}{suffix}").unlink(missing_ok=True)


def _prune(folder: Path) -> None:
    banks = sorted(folder.glob("*.npz"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in banks[_KEPT:]:
        _forget(path.with_suffix(""))
