"""The cache of measured tasks, recorded transitions, and trainings with the tasks' own rewards, for all runs of a user.

An entry is named by everything that its content depends on, and is checked before it is used. Only processes without
generated code write here. Without a cache folder (a full disk, a user without a home) a run goes on, only slower.
"""

from __future__ import annotations

import hashlib
import io
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile, ZipFile

from pydantic import ValidationError

from rewardgen import __version__
from rewardgen.core.config import SandboxMode
from rewardgen.core.errors import RewardgenError
from rewardgen.core.files import cache_folder, read_plain, write_atomic
from rewardgen.core.provenance import installed_version
from rewardgen.core.resources import PACKAGE
from rewardgen.core.schema import Frozen
from rewardgen.sandbox.folders import scratch_folder
from rewardgen.sandbox.jobs import register
from rewardgen.sandbox.process import Limits
from rewardgen.store.names import AbsolutePath, Digest
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
    "training/shared/normaliser.py",
    *(f"training/ppo/{name}.py" for name in ("policy", "networks", "mlp")),
)
"""Modules of this package that decide the measurements of a task."""
_PACKAGES = ("mujoco", "torch", "numpy", "gymnasium")
_MOST_BYTES = 64 << 20
_DATA = (".csv", ".json", ".npy", ".npz", ".pt", ".py", ".toml", ".txt", ".yaml", ".yml")
"""Suffixes of files beside a task file that the task may read undeclared."""
_UNUSABLE = (OSError, RuntimeError, ValueError, RewardgenError, BadZipFile, zlib.error, EOFError, KeyError)
_HEAD = "entry.json"


class _Entry(Frozen):
    content: dict[str, Any]
    files: dict[AbsolutePath, Digest]
    """Files of the task, which must be unchanged."""


class _Cache(NamedTuple):
    """Zip files of an `_Entry` and the files that belong to it; their checksums show damage."""

    folder: str
    most: int
    """Entries kept; those used longest ago are removed first."""

    def find(self, key: Iterable[str]) -> tuple[dict[str, Any], dict[str, bytes]] | None:
        """Return the content and the files of an entry, if there is a sound one."""
        with suppress(*_UNUSABLE):
            path = self._path(key)
            with ZipFile(io.BytesIO(read_plain(path, _MOST_BYTES))) as archive:
                files = {name: archive.read(name) for name in archive.namelist()}
            entry = _Entry.model_validate_json(files.pop(_HEAD))
            if not changed(entry.files):
                os.utime(path)
                return entry.content, files
        return None

    def keep(self, key: Iterable[str], entry: _Entry, files: Mapping[str, bytes]) -> None:
        """Store an entry, if there is room and `find` would read it."""
        with suppress(*_UNUSABLE):
            data = io.BytesIO()
            with ZipFile(data, "w") as archive:
                for name, content in {_HEAD: entry.model_dump_json(), **files}.items():
                    archive.writestr(name, content)
            if data.tell() > _MOST_BYTES:
                return
            path = self._path(key)
            write_atomic(path, data.getvalue())
            entries = sorted(path.parent.glob("*.zip"), key=lambda other: other.stat().st_mtime, reverse=True)
            for old in entries[self.most :]:
                old.unlink(missing_ok=True)

    def _path(self, key: Iterable[str]) -> Path:
        return cache_folder(self.folder) / f"{hashlib.sha256(chr(0).join(key).encode()).hexdigest()}.zip"


_TASKS = _Cache("transitions", 40)
_BASELINES = _Cache("baselines", 400)


def code(sources: Sequence[str]) -> Iterator[str]:
    """Yield the versions of packages and digests of our own modules that decide measured numbers."""
    yield from (__version__, *(installed_version(package) or "" for package in _PACKAGES))
    yield from digests(path for pattern in sources for path in sorted(PACKAGE.glob(pattern))).values()


def check_task(task: str, sandbox: SandboxMode, note: Callable[[str], None], *, quick: bool = False) -> dict[str, Any]:
    """Check a task file in a worker; return the answer of `rewardgen.training.expert_policy.check_job`.

    `note` receives each slow part as it begins. A `quick` check runs no episodes.
    """
    limits = MEASURING.model_copy(update={"sandbox": sandbox})
    payload = {"task": task, "trainers": TRAINERS.names(), "quick": quick}
    return measure(CHECK_TASK, payload, limits, lambda said: note(str(said["part"])))


def get_or_measure(task: str, limits: Limits = MEASURING, *, with_transitions: bool = False) -> MeasuredTask:
    """Return a measured task, cached or measured now; `with_transitions` also records transitions for later calls.

    Raises a TaskError if the task cannot be simulated.
    """
    return _get_or_measure(task, limits, with_transitions)[0]


def get_or_record_transitions(task: str, path: Path, limits: Limits = MEASURING) -> MeasuredTask:
    """Write a task's transitions to a file, from the cache or recorded now, and return the measured task.

    Raises a TaskError if the task cannot be simulated, a RunFolderError if the file cannot be written.
    """
    measured, transitions = _get_or_measure(task, limits, True)
    write_atomic(path, transitions)
    return measured


def _get_or_measure(task: str, limits: Limits, with_transitions: bool) -> tuple[MeasuredTask, bytes]:
    key = (task, *digests([resolve_task(task)]).values(), *code(_TASK_SOURCES))
    content, files = _TASKS.find(key) or ({}, {})
    with suppress(ValidationError, RewardgenError):
        if not with_transitions or files:
            return MeasuredTask.model_validate(content), files.get("transitions.npz", b"")
    if with_transitions:
        with scratch_folder() as scratch:
            path = scratch.resolve() / "transitions.npz"
            content = measure(RECORD_TRANSITIONS, {"task": task, "path": str(path)}, limits)
            files = {path.name: path.read_bytes()}
    else:
        content, files = measure(MEASURE_TASK, {"task": task}, limits), {}
    measured = MeasuredTask.model_validate(content)
    _TASKS.keep(key, _Entry(content=content, files=measured.files | _beside(task)), files)
    return measured, files.get("transitions.npz", b"")


def _beside(task: str) -> dict[str, str]:
    return digests(path for path in resolve_task(task).parent.iterdir() if _is_data(path))


def _is_data(path: Path) -> bool:
    if path.suffix not in _DATA or path.name.endswith(EXPERT_SUFFIX):
        return False
    with suppress(OSError):
        return path.is_file() and path.stat().st_size <= _MOST_BYTES
    return False


class BaselineCache:
    """Trainings of one task's own rewards, which every run compares with, and of drafts on which settings race."""

    def __init__(self, task: str, task_files: dict[str, str], training: Training) -> None:
        self._task, self._files = task, task_files
        self._key = (task, training.model_dump_json(), *task_files.values(), *code(TRAINING_SOURCES))

    def bring(self, spec: SliceSpec, source: str, folder: Path) -> SliceResult | None:
        """Return the training of an earlier run, with its files copied to a folder; None if there is none."""
        with suppress(*_UNUSABLE):
            content, files = _BASELINES.find(self._of(spec, source)) or ({}, {})
            result = SliceResult.model_validate(content)
            for name in filter(None, (result.policy, result.episodes_file)):
                write_atomic(folder / name, files[name])
            return result
        return None

    def keep(self, result: SliceResult, source: str, folder: Path) -> None:
        """Store a training; a failed one is not kept, as the machine may have caused the failure."""
        if not result.failure:
            with suppress(*_UNUSABLE):
                names = filter(None, (result.policy, result.episodes_file))
                files = {name: read_plain(folder / name, _MOST_BYTES) for name in names}
                entry = _Entry(content=result.model_dump(mode="json"), files=self._files | _beside(self._task))
                _BASELINES.keep(self._of(result.spec, source), entry, files)

    def _of(self, spec: SliceSpec, source: str) -> tuple[str, ...]:
        return (*self._key, spec.model_dump_json(), source)
