"""What a user names by `RUN` or `RUN:CANDIDATE`: a run, what is known of it, and one of its rewards."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from rewardgen.core.errors import UsageError, did_you_mean
from rewardgen.store.history import History
from rewardgen.store.records import RewardSpec
from rewardgen.store.run_folder import EVENTS, RunFolder, find_run


class Reference(NamedTuple):
    """A run, and the candidate of it that was named."""

    folder: RunFolder
    history: History
    named: str | None = None
    """The candidate, or `human` or `sparse`; None if only the run was named."""

    @property
    def has_reward(self) -> bool:
        """Whether there is a candidate to speak of."""
        return bool(self.named or (self.history.summary and self.history.summary.chosen))

    @property
    def candidate(self) -> str:
        """The candidate that was named, or the run's chosen one.

        Raises:
            UsageError: The run has chosen none.
        """
        if found := self.named or (self.history.summary and self.history.summary.chosen):
            return found
        best = self.history.best()
        hint = f"name a candidate, such as `{self.folder.id}:{best.candidate.id}`" if best else "take another run"
        raise UsageError(f"run {self.folder.id} has no chosen reward", hint)

    @property
    def reward(self) -> RewardSpec:
        """The reward of that candidate.

        Raises:
            UsageError: It has no code.
        """
        id = self.candidate
        if not self.source:
            record = self.history.record(id)
            raise UsageError(
                f"{self.folder.id}:{id} has no code: {record.outcome if record else ''}", "take another one"
            )
        return RewardSpec(candidate_id=f"{self.folder.id}:{id}", source=self.source)

    @property
    def source(self) -> str:
        """Its code; empty if there is none."""
        record = self.history.record(self.candidate)
        return record.candidate.source if record else self.history.baselines[self.candidate]


def find_reference(reference: str, runs_dir: Path) -> Reference:
    """The run, and the candidate if one is given, that a reference names.

    Args:
        reference: `RUN` or `RUN:CANDIDATE`; of a run, what `find_run` takes.
        runs_dir: Where the runs are.

    Raises:
        RunFolderError: No run, or more than one, fits; or it cannot be read.
        UsageError: The run has no such candidate.
    """
    run, _, candidate = reference.rpartition(":")
    if not run or (Path(reference) / EVENTS).is_file():
        run, candidate = reference, ""
    folder = find_run(run, runs_dir)
    history = History.load(folder)
    if candidate and candidate not in history.baselines and history.record(candidate) is None:
        known = [*history.ids(), *history.baselines]
        raise UsageError(f"run {folder.id} has no candidate `{candidate}`", did_you_mean(candidate, known))
    return Reference(folder, history, candidate or None)
