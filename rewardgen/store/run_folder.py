"""Run folders: layout, names, look-up by reference, and the lock against a second process."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shlex
import stat
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from rewardgen.core.errors import RunFolderError, did_you_mean
from rewardgen.core.files import explain_os_error

DEFAULT_RUNS_DIR = Path("runs")
EVENTS = "events.jsonl"
TRAINING = "training.json"
"""File of a folder that `train` made, which is no run."""
_MOST_OF_TASK = 24
"""Characters of a run's id that are of its task's name."""
MOST_POLICY_BYTES = 64 << 20
_CANDIDATE = re.compile(r"g\d+-k\d+")


class RunFolder:
    """Paths of the files of one run, whose folder need not exist yet."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.id = path.name
        is_at_home = path.resolve().parent == DEFAULT_RUNS_DIR.resolve()
        self.word = shlex.quote(path.name if is_at_home else os.fspath(path))
        """Reference to the run in a shell command: its id, or its path where it lies in another folder of runs."""
        self.events = path / EVENTS
        self.progress = path / "progress.jsonl"
        """Progress of trainings, while a process works on the run."""
        self.config = path / "run.toml"
        self.provenance = path / "provenance.json"
        self.prompts = path / "prompts"
        self.card = path / "card.json"
        self.readme = path / "README.md"
        self.calls = path / "llm"
        """Requests and replies of language models."""
        self.best = path / "best"
        self.policies = path / "policies"
        self.scratch = path / "scratch"
        """Working folders of worker processes; deleted when the run ends, and on resuming."""
        self.transitions = path / "transitions.npz"
        """Recorded transitions for the critic's probe."""

    def candidate(self, candidate_id: str) -> Path:
        """Return the folder of one candidate."""
        return self.path / "candidates" / candidate_id

    def policies_of(self, phase: str) -> Path:
        """Return the folder of a phase's policies."""
        return self.policies / phase

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the run for this process; the lock ends with the process.

        Raises:
            RunFolderError: Another process holds the lock, the folder cannot be written, or something in it leads out.
        """
        with open(self._lock_file(), "a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                hint = "wait for that process, or end it with Ctrl-C"
                raise RunFolderError(f"run {self.id} is locked by another process", hint) from error
            self._keep_within()
            yield

    def _lock_file(self) -> int:
        path = self.path / ".lock"
        try:
            return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
        except OSError as error:
            raise explain_os_error(path, error) from error

    def _keep_within(self) -> None:
        """Refuse links and pipes in the folder: a run would write elsewhere by them, or wait for ever.

        `scratch` may hold anything that workers left. It is not searched, but emptied before use.
        """

        def unreadable(error: OSError) -> None:
            raise explain_os_error(Path(error.filename), error) from error

        for place, folders, files in os.walk(self.path, onerror=unreadable):
            for path in (Path(place, name) for name in (*folders, *files)):
                if path.is_symlink() or (path.exists() and not (path.is_dir() or path.is_file())):
                    raise _leads_out(path, "neither a file nor a folder")
            folders[:] = [name for name in folders if Path(place, name) != self.scratch]

    def place_within(self, *names: str) -> Path:
        """Return a path below the run's folder that is reached through real folders only; it need not exist.

        Raises:
            RunFolderError: One of them is a link or a file.
        """
        place = self.path
        for name in names:
            place /= name
            try:
                if not stat.S_ISDIR(place.lstat().st_mode):
                    raise _leads_out(place, "no real folder")
            except FileNotFoundError:
                continue
            except OSError as error:
                raise explain_os_error(place, error) from error
        return place

    def is_locked(self) -> bool:
        """True if a process works on the run; needs no right to write."""
        try:
            with open(os.open(self.path / ".lock", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)) as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False


class TrainingFolder(RunFolder):
    """Paths of a folder that `train` made, read like a run of finals alone."""

    def policies_of(self, phase: str) -> Path:
        """See `RunFolder.policies_of`: they lie beside the results."""
        return self.path


def _leads_out(path: Path, kind: str) -> RunFolderError:
    hint = "put a real file or folder in its place, or delete it"
    return RunFolderError(f"{path} is {kind}: the run would leave its own folder by it", hint)


def create_run(runs_dir: Path, task: str) -> RunFolder:
    """Create a run folder, named by start time, the first words of the task and four random hex digits.

    Raises:
        RunFolderError: The folder cannot be created.
    """
    words = re.findall("[A-Za-z0-9]+", Path(task).stem) or ["task"]
    stem = textwrap.shorten(" ".join(words), _MOST_OF_TASK, placeholder="") or words[0][:_MOST_OF_TASK]
    name = f"{datetime.now():%Y%m%d-%H%M%S}-{stem.replace(' ', '-')}-{secrets.token_hex(2)}"
    folder = RunFolder(runs_dir / name)
    try:
        folder.path.mkdir(parents=True)
    except OSError as error:
        raise explain_os_error(folder.path, error, "--runs-dir") from error
    return folder


def list_runs(runs_dir: Path) -> list[RunFolder]:
    """Return all runs in a folder, oldest first."""
    if not runs_dir.is_dir():
        return []
    return [RunFolder(path) for path in sorted(runs_dir.iterdir()) if (path / EVENTS).is_file()]


def find_run(reference: str, runs_dir: Path) -> RunFolder:
    """Return the run that a reference names.

    Args:
        reference: `latest`, a run's id or a unique part of it, or the path of a run folder.
        runs_dir: Folder of the runs.

    Raises:
        RunFolderError: No run, or more than one, matches.
    """
    if (Path(reference) / EVENTS).is_file():
        return RunFolder(Path(reference).resolve())  # `.` has no name
    if (Path(reference) / TRAINING).is_file():
        reward = shlex.quote(str(Path(reference) / "reward.py"))
        hint = f"start a run from its reward: `rewardgen run TASK --init {reward}`"
        raise RunFolderError(f"{reference} is a training, not a run", hint)
    runs = list_runs(runs_dir)
    if not runs:
        raise RunFolderError(f"no runs in {os.fspath(runs_dir)}/", "start one with `rewardgen run cartpole`")
    if reference == "latest":
        return runs[-1]
    matches = [run for run in runs if run.id == reference] or [run for run in runs if reference in run.id]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise RunFolderError(f"`{reference}` matches {len(matches)} runs", ", ".join(run.id for run in matches))
    if _CANDIDATE.fullmatch(reference):
        raise RunFolderError(f"`{reference}` is a candidate, not a run", f"name its run too: `latest:{reference}`")
    raise RunFolderError(f"unknown run `{reference}`", did_you_mean(reference, [run.id for run in runs]))
