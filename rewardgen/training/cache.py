"""The cache of measured tasks, their recorded transitions, and trainings of their own rewards, for all runs of a user.

An entry is named by everything that its content depends on, and is checked before it is used. Only processes without
generated code write here. Without a cache folder (a full disk, a user without a home) a run goes on, only slower.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from rewardgen import __version__
from rewardgen.core.config import SandboxMode
from rewardgen.core.errors import RewardgenError
from rewardgen.core.files import cache_folder, read_plain, sweep_unfinished, write_atomic
from rewardgen.core.provenance import installed_version
from rewardgen.core.resources import PACKAGE
from rewardgen.core.schema import Frozen
from rewardgen.sandbox.folders import scratch_folder
from rewardgen.sandbox.jobs import register
from rewardgen.sandbox.process import Limits
from rewardgen.store.names import AbsolutePath, Digest, FileName
from rewardgen.store.records import SliceResult, SliceSpec, Training
from rewardgen.tasks.fingerprint import changed, digests
from rewardgen.tasks.loading import EXPERT_SUFFIX, resolve_task
from rewardgen.tasks.measure import MEASURE_TASK, MEASURING, TASK_FILES, MeasuredTask, measure
from rewardgen.training.setup import TRAINERS

RECORD_TRANSITIONS = register(
    "transitions", "rewardgen.training.expert_policy:transitions_job", writes=("path",), inputs=TASK_FILES
)
CHECK_TASK = register("check", "rewardgen.training.expert_policy:check_job", inputs=TASK_FILES)

TRAINING_SOURCES = ("sim/*.py", "tasks/*.py", "reward/*.py", "training/*.py", "training/*/*.py")
"""Modules of this package that decide the numbers of a training."""
_TASK_SOURCES = (
    "sim/*.py",
    "tasks/*.py",
    "training/expert_policy.py",
    "training/policies.py",
    *(f"training/ppo/{name}.py" for name in ("policy", "networks", "mlp", "normaliser")),
)
"""Modules of this package that decide what is measured of a task."""
_PACKAGES = ("mujoco", "torch", "numpy", "gymnasium")
_MOST_BYTES = 64 << 20
_DATA = (".csv", ".json", ".npy", ".npz", ".pt", ".py", ".toml", ".txt", ".yaml", ".yml")
"""Suffixes of files beside a task that it may read without saying so."""
_UNUSABLE = (OSError, RuntimeError, ValidationError, RewardgenError)


class _Entry(Frozen):
    content: dict[str, Any]
    files: dict[AbsolutePath, Digest]
    """Files of the task, which must be unchanged."""
    artifacts: dict[FileName, Digest] = {}
    """Files that belong to the entry; each lies beside it under its digest."""


class _Cache(NamedTuple):
    folder: str
    most: int
    """Entries kept; those used longest ago are removed first."""

    def find(self, key: Iterable[str]) -> tuple[dict[str, Any], dict[str, bytes]] | None:
        """Return the content and the files of an entry, if there is a sound one."""
        with suppress(*_UNUSABLE):
            place = self._place(key)
            entry = _Entry.model_validate_json(read_plain(place, _MOST_BYTES))
            artifacts = {
                name: read_plain(place.parent / digest, _MOST_BYTES) for name, digest in entry.artifacts.items()
            }
            if changed(entry.files) or any(_digest(data) != entry.artifacts[name] for name, data in artifacts.items()):
                return None
            os.utime(place)
            return entry.content, artifacts
        return None

    def keep(
        self, key: Iterable[str], content: dict[str, Any], files: dict[str, str], artifacts: Mapping[str, bytes]
    ) -> None:
        """Store an entry, if there is room."""
        with suppress(*_UNUSABLE):
            place = self._place(key)
            place.parent.mkdir(parents=True, exist_ok=True)
            named = {name: _digest(data) for name, data in artifacts.items()}
            for name, data in artifacts.items():
                write_atomic(place.parent / named[name], data)
            write_atomic(place, _Entry(content=content, files=files, artifacts=named).model_dump_json())
            self._forget_old(place.parent)

    def _place(self, key: Iterable[str]) -> Path:
        return cache_folder(self.folder) / f"{_digest(chr(0).join(key).encode())}.json"

    def _forget_old(self, folder: Path) -> None:
        entries = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
        if len(entries) > self.most:
            used = {name for entry in entries[: self.most] for name in _artifacts(entry)}
            for path in (*entries[self.most :], *(path for path in folder.iterdir() if path.suffix != ".json")):
                if path.name not in used:
                    path.unlink(missing_ok=True)


_TASKS = _Cache("transitions", 40)
_BASELINES = _Cache("baselines", 400)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _artifacts(entry: Path) -> Iterable[str]:
    try:
        return _Entry.model_validate_json(entry.read_bytes()).artifacts.values()
    except (ValidationError, RewardgenError):  # of another version
        entry.unlink(missing_ok=True)
        return ()


def code(sources: Sequence[str]) -> Iterator[str]:
    """Yield the versions of packages and digests of our own modules that decide measured numbers."""
    yield from (__version__, *(installed_version(package) or "" for package in _PACKAGES))
    yield from digests(path for pattern in sources for path in sorted(PACKAGE.glob(pattern))).values()


def sweep_cache() -> list[Path]:
    """Remove unfinished files of killed processes; return their paths."""
    with suppress(RuntimeError):
        folders = (cache_folder(cache.folder) for cache in (_TASKS, _BASELINES))
        return [path for folder in folders for path in sweep_unfinished(folder, shared=True)]
    return []


def check_task(task: str, sandbox: SandboxMode = "auto") -> dict[str, Any]:
    """Check a task file in a worker; return the answer of `rewardgen.training.expert_policy.check_job`."""
    limits = MEASURING.model_copy(update={"sandbox": sandbox})
    return measure(CHECK_TASK, {"task": task, "trainers": TRAINERS.names()}, limits)


def get_or_measure(task: str, limits: Limits = MEASURING, *, with_transitions: bool = False) -> MeasuredTask:
    """Return what is known of a task, from the cache or measured now.

    Raises:
        TaskError: The task cannot be simulated.
    """
    return _get_or_measure(task, limits, with_transitions)[0]


def get_or_record_transitions(task: str, path: Path, limits: Limits = MEASURING) -> MeasuredTask:
    """Write a task's transitions to a file, from the cache or recorded now, and return the measured task.

    Raises:
        TaskError: The task cannot be simulated.
        RunFolderError: The file cannot be written.
    """
    measured, transitions = _get_or_measure(task, limits, True)
    write_atomic(path, transitions)
    return measured


def _get_or_measure(task: str, limits: Limits, with_transitions: bool) -> tuple[MeasuredTask, bytes]:
    key = (task, *digests([resolve_task(task)]).values(), *code(_TASK_SOURCES))
    content, artifacts = _TASKS.find(key) or ({}, {})
    with suppress(ValidationError, RewardgenError):
        if not with_transitions or artifacts:
            return MeasuredTask.model_validate(content), artifacts.get("transitions.npz", b"")
    if with_transitions:
        with scratch_folder() as scratch:
            path = scratch.resolve() / "transitions.npz"
            content = measure(RECORD_TRANSITIONS, {"task": task, "path": str(path)}, limits)
            artifacts = {path.name: path.read_bytes()}
    else:
        content, artifacts = measure(MEASURE_TASK, {"task": task}, limits), {}
    measured = MeasuredTask.model_validate(content)
    _TASKS.keep(key, content, measured.files | _beside(task), artifacts)
    return measured, artifacts.get("transitions.npz", b"")


def _beside(task: str) -> dict[str, str]:
    """Return the digests of data files in a task's folder by path."""
    return digests(path for path in resolve_task(task).parent.iterdir() if _is_data(path))


def _is_data(path: Path) -> bool:
    if path.suffix not in _DATA or path.name.endswith(EXPERT_SUFFIX):
        return False
    try:
        return path.is_file() and path.stat().st_size <= _MOST_BYTES
    except OSError:
        return False


class BaselineCache:
    """Trainings of one task's own rewards, which every run compares with."""

    def __init__(self, task: str, task_files: dict[str, str], training: Training) -> None:
        self._task, self._files = task, task_files
        self._key = (task, training.model_dump_json(), *task_files.values(), *code(TRAINING_SOURCES))

    def bring(self, spec: SliceSpec, source: str, folder: Path) -> SliceResult | None:
        """Return the training of an earlier run, with its files copied to a folder; None if there is none."""
        with suppress(*_UNUSABLE):
            content, artifacts = _BASELINES.find(self._of(spec, source)) or ({}, {})
            result = SliceResult.model_validate(content)
            for name, data in artifacts.items():
                write_atomic(folder / name, data)
            return result
        return None

    def keep(self, result: SliceResult, source: str, folder: Path) -> None:
        """Store a training; a failed one is not kept, as the machine may have caused the failure."""
        if not result.failure:
            with suppress(*_UNUSABLE):
                names = filter(None, (result.policy, result.episodes_file))
                artifacts = {name: read_plain(folder / name, _MOST_BYTES) for name in names}
                files, key = self._files | _beside(self._task), self._of(result.spec, source)
                _BASELINES.keep(key, result.model_dump(mode="json"), files, artifacts)

    def _of(self, spec: SliceSpec, source: str) -> tuple[str, ...]:
        return (*self._key, spec.model_dump_json(), source)
