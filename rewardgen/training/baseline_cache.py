"""Trainings of a task's own rewards, kept between runs in the user's cache folder.

The human and the sparse reward of a task are trained by every run that compares with them. A training depends on its
reward, its seed, the settings and the code alone, so it is taken from the last run that did the same. Only what was
trained in processes without generated code gets here: see `RewardSpec.own`.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from rewardgen.core.errors import RewardgenError
from rewardgen.core.files import cache_folder, read_plain, write_atomic
from rewardgen.core.schema import Frozen
from rewardgen.store.names import AbsolutePath, Digest, FileName
from rewardgen.store.records import SliceResult, SliceSpec, Training
from rewardgen.tasks.fingerprint import changed
from rewardgen.training.transition_cache import beside, code

_KEPT = 400
"""Trainings that are kept; those used longest ago go first."""
_MOST_BYTES = 64 << 20
_UNUSABLE = (OSError, RuntimeError, ValidationError, RewardgenError)
"""A full disk, a folder that others clear, a user without a home, what another version left: a run goes on without."""
SOURCES = ("sim/*.py", "tasks/*.py", "reward/*.py", "training/*.py", "training/*/*.py", "analyzer/hacking.py")
"""Our own modules that decide about the numbers, in the package's folder."""


class _Entry(Frozen):
    """What is kept of a training beside its files."""

    result: SliceResult
    files: dict[AbsolutePath, Digest]
    """Of the task, as they were."""
    artifacts: dict[FileName, Digest]
    """Of the policy and the episodes."""


class BaselineCache:
    """Looks up and keeps trainings of one task's own rewards.

    Args:
        task: Its reference.
        task_files: Path to hash of what it is made of.
        training: How its rewards are trained.
    """

    def __init__(self, task: str, task_files: dict[str, str], training: Training) -> None:
        self._task, self._files = task, task_files
        settings = training.model_dump_json()
        self._common = "\0".join((task, settings, *task_files.values(), *code(SOURCES)))

    def bring(self, spec: SliceSpec, source: str, folder: Path, *, stop_hacking: bool) -> SliceResult | None:
        """A training as another run did it, with its files put in a folder; None if none did.

        Args:
            spec: The reward's name and the seed.
            source: The reward.
            folder: For its policy and its episodes.
            stop_hacking: Whether it might end early.
        """
        with suppress(*_UNUSABLE):
            place = self._place(spec, source, stop_hacking)
            entry = _Entry.model_validate_json(read_plain(place, _MOST_BYTES))
            if entry.result.spec != spec or changed(entry.files):
                return None
            found = {name: read_plain(place.parent / digest, _MOST_BYTES) for name, digest in entry.artifacts.items()}
            if any(_digest(content) != entry.artifacts[name] for name, content in found.items()):
                return None
            for name, content in found.items():
                write_atomic(folder / name, content)
            os.utime(place)
            return entry.result
        return None

    def keep(self, result: SliceResult, source: str, folder: Path, *, stop_hacking: bool) -> None:
        """Keep a training for other runs; one that failed is not kept, for what failed may have been the machine."""
        if result.failure:
            return
        artifacts = {}
        with suppress(*_UNUSABLE):
            place = self._place(result.spec, source, stop_hacking)
            for name in filter(None, (result.policy, result.episodes_file)):
                content = read_plain(folder / name, _MOST_BYTES)
                artifacts[name] = _digest(content)
                write_atomic(place.parent / artifacts[name], content)
            files = self._files | beside(self._task)
            write_atomic(place, _Entry(result=result, files=files, artifacts=artifacts).model_dump_json())
            _forget_old(place.parent)

    def _place(self, spec: SliceSpec, source: str, stop_hacking: bool) -> Path:
        what = "\0".join((self._common, spec.model_dump_json(), source, json.dumps(stop_hacking)))
        return cache_folder("baselines") / f"{_digest(what.encode())}.json"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _forget_old(folder: Path) -> None:
    entries = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    if len(entries) <= _KEPT:
        return
    named = {name for each in entries[:_KEPT] for name in _artifacts(each)}
    for each in (*entries[_KEPT:], *(path for path in folder.iterdir() if path.suffix != ".json")):
        if each.name not in named:
            each.unlink(missing_ok=True)


def _artifacts(entry: Path) -> Iterable[str]:
    """Names of the files that belong to an entry; one that cannot be read, as of another version, goes."""
    try:
        return _Entry.model_validate_json(entry.read_bytes()).artifacts.values()
    except (ValidationError, RewardgenError):
        entry.unlink(missing_ok=True)
        return ()
