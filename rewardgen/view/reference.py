"""`RUN` or `RUN:CANDIDATE` on the command line and in Python: a run, its history, and one of its rewards."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from rewardgen.core.errors import UsageError, did_you_mean
from rewardgen.store.history import History
from rewardgen.store.records import RewardSpec
from rewardgen.store.run_folder import EVENTS, RunFolder, TrainingFolder, find_run


class Reference(NamedTuple):
    """A run, and the candidate that was named with it."""

    folder: RunFolder
    history: History
    named: str | None = None
    """A candidate, `human` or `sparse`; None if only the run was named."""

    @property
    def has_reward(self) -> bool:
        """True if a candidate was named or chosen."""
        return bool(self.named or (self.history.summary and self.history.summary.chosen))

    @property
    def candidate(self) -> str:
        """The named candidate, or the chosen one.

        Raises:
            UsageError: The run has chosen none.
        """
        if id := self.named or (self.history.summary and self.history.summary.chosen):
            return id
        best = self.history.best()
        word = self.folder.word
        finish = "take another run" if self.history.summary else f"finish the run: `rewardgen resume {word}`"
        hint = f"name a candidate, such as `{word}:{best.candidate.id}`" if best else finish
        raise UsageError(f"run {self.folder.id} has no chosen reward", hint)

    @property
    def word(self) -> str:
        """The reference in a shell command."""
        word = self.folder.word
        return word if isinstance(self.folder, TrainingFolder) else f"{word}:{self.candidate}"

    @property
    def reward(self) -> RewardSpec:
        """The reward of that candidate.

        Raises:
            UsageError: The candidate has no code.
        """
        id = self.candidate
        if not self.source:
            record = self.history.record(id)
            outcome = record.outcome if record else ""
            raise UsageError(f"{self.folder.id}:{id} has no code: {outcome}", "take another candidate")
        return RewardSpec(candidate_id=f"{self.folder.id}:{id}", source=self.source)

    @property
    def source(self) -> str:
        """Code of that candidate; may be empty."""
        record = self.history.record(self.candidate)
        return record.candidate.source if record else self.history.baselines[self.candidate]


def find_reference(reference: str, runs_dir: Path) -> Reference:
    """The run, and perhaps the candidate, that a reference names.

    Raises:
        RunFolderError: No run, or more than one, fits; or the run cannot be read.
        UsageError: The run has no such candidate.
    """
    run, _, candidate = reference.rpartition(":")
    if not run or (Path(reference) / EVENTS).is_file():
        run, candidate = reference, ""
    folder = find_run(run, runs_dir)
    history = History.load(folder)
    if candidate:
        require_candidate(folder, history, candidate)
    return Reference(folder, history, candidate or None)


def require_candidate(folder: RunFolder, history: History, id: str) -> None:
    """Check that a run has a candidate, or a reward of the task, of that name.

    Raises:
        UsageError: The run has none.
    """
    names = [*history.ids(), *history.baselines]
    if id not in names:
        raise UsageError(f"run {folder.id} has no candidate `{id}`", did_you_mean(id, names))
