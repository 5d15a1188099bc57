"""The run folder: its layout, its name, finding one by reference, and the lock that keeps two processes out of it."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO

from rewardgen.core.errors import RunFolderError, did_you_mean
from rewardgen.core.files import explain_os_error

DEFAULT_RUNS_DIR = Path("runs")
EVENTS = "events.jsonl"


class RunFolder:
    """Where each file of one run lies.

    Args:
        path: The folder; need not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.id = path.name
        self.events = path / EVENTS
        self.config = path / "run.toml"
        self.provenance = path / "provenance.json"
        self.card = path / "card.json"
        self.readme = path / "README.md"
        self.calls = path / "llm"
        """Every request and reply of a language model."""
        self.best = path / "best"
        self.policies = path / "policies"
        self.scratch = path / "scratch"
        """Working folders of worker processes; may be deleted when the run is not running."""
        self.transitions = path / "transitions.npz"
        """Recorded transitions for the critic's probe."""

    def candidate(self, candidate_id: str) -> Path:
        """Folder of one candidate."""
        return self.path / "candidates" / candidate_id

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the run for this process; the lock goes with the process, however it ends.

        Raises:
            RunFolderError: Another process holds it, or the folder cannot be written.
        """
        with self._lock_file() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise RunFolderError(
                    f"run {self.id} is being worked on by another process", "wait for it, or end it with Ctrl-C"
                ) from error
            yield

    def _lock_file(self) -> IO[str]:
        path = self.path / ".lock"
        try:
            return open(path, "a")
        except OSError as error:
            raise explain_os_error(path, error) from error

    def is_locked(self) -> bool:
        """Whether some process is working on the run now; only looks, so it also works where nothing may be written."""
        try:
            with open(self.path / ".lock") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False


def create_run(runs_dir: Path, task: str) -> RunFolder:
    """Make a new run folder, named by start time, task and four random hex digits.

    Raises:
        RunFolderError: The folder cannot be made.
    """
    stem = re.sub(r"[^A-Za-z0-9]+", "-", Path(task).stem).strip("-") or "task"
    name = f"{datetime.now():%Y%m%d-%H%M%S}-{stem}-{secrets.token_hex(2)}"
    folder = RunFolder(runs_dir / name)
    try:
        folder.path.mkdir(parents=True)
    except OSError as error:
        raise explain_os_error(folder.path, error) from error
    return folder


def list_runs(runs_dir: Path) -> list[RunFolder]:
    """All runs in a folder, oldest first."""
    if not runs_dir.is_dir():
        return []
    return [RunFolder(path) for path in sorted(runs_dir.iterdir()) if (path / EVENTS).is_file()]


def find_run(reference: str, runs_dir: Path) -> RunFolder:
    """The run that a reference names.

    Args:
        reference: `latest`, a run's id or a unique part of it, or the path of a run folder.
        runs_dir: Where the runs are.

    Raises:
        RunFolderError: No run, or more than one, fits.
    """
    if (Path(reference) / EVENTS).is_file():
        return RunFolder(Path(reference).resolve())  # `.` has no name
    runs = list_runs(runs_dir)
    if not runs:
        raise RunFolderError(f"there are no runs in {os.fspath(runs_dir)}/", "start one with `rewardgen run cartpole`")
    if reference == "latest":
        return runs[-1]
    fitting = [run for run in runs if run.id == reference] or [run for run in runs if reference in run.id]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise RunFolderError(f"`{reference}` fits {len(fitting)} runs", ", ".join(run.id for run in fitting))
    raise RunFolderError(f"there is no run `{reference}`", did_you_mean(reference, [run.id for run in runs]))
