"""A run as Python sees it: `rewardgen.open_run`, and what is in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rewardgen.api.display import data_frame, run_html
from rewardgen.api.reward import Reward
from rewardgen.api.tracking import tracked
from rewardgen.api.watching import watching
from rewardgen.core.errors import UsageError, did_you_mean
from rewardgen.core.formatting import with_interval
from rewardgen.core.statistics import Interval, bootstrap_interval, proportion_interval
from rewardgen.film.film_index import Film, films_of
from rewardgen.report.closing import close_run
from rewardgen.report.run_files import RunFiles
from rewardgen.search.lifecycle import Outcome, Resume, resume
from rewardgen.store.history import History, Status, Summary, status_of
from rewardgen.store.journal import Listener
from rewardgen.store.measurements import STARTS
from rewardgen.store.records import CandidateRecord, CandidateResult, Verdict
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR, RunFolder, find_run
from rewardgen.ui.console import messages
from rewardgen.view.rows import search_rows

if TYPE_CHECKING:
    from rewardgen.api.policy import TrainedPolicy


class Candidate:
    """One reward of a run, with what is known of it; the task's own are some too.

    Its numbers are those of the fresh seeds where it was trained on them, else those of the search.

    Args:
        folder: The run's.
        history: What is known of the run.
        id: Its id, or `human` or `sparse`.
    """

    def __init__(self, folder: RunFolder, history: History, id: str) -> None:
        self.id = id
        self.folder, self.history = folder, history
        record = history.record(id) or history.baseline_record(id)
        self._record: CandidateRecord | None = record
        self.phase = "final" if history.result("final", id) else "search"
        """Where its numbers are from: `final` or `search`."""

    @property
    def source(self) -> str:
        """Its reward's Python; empty if the designer's reply held none."""
        return self._record.candidate.source if self._record else self.history.baselines.get(self.id, "")

    @cached_property
    def reward(self) -> Reward:
        """Its reward, to be called; see there what keeps that safe.

        Raises:
            UsageError: It has no code.
        """
        if not self.source:
            raise UsageError(f"{self.id} has no code: {self.reason}", "take another candidate")
        return Reward(self.source, self.id)

    @cached_property
    def result(self) -> CandidateResult | None:
        """Its trainings, one with each seed; None if there are none."""
        return self.history.result("final" if self.phase == "final" else "search", self.id)

    @property
    def fitness(self) -> Interval | None:
        """Interquartile mean over its seeds with a 95 % interval; None if it failed or was not trained."""
        values = [*self.result.by_seed.values()] if self.result else []
        return bootstrap_interval(values) if values else None

    @property
    def success(self) -> Interval | None:
        """Success rate with a 95 % interval; likewise."""
        rates = [each.final_success_rate for each in self.result.slices] if self.result and self.fitness else []
        known = [rate for rate in rates if rate is not None]
        return proportion_interval(known, STARTS) if known else None

    @property
    def policy_path(self) -> Path | None:
        """File of the best of its policies; None if there is none any more."""
        best = self.result.best if self.result else None
        path = self.folder.policies / self.phase / str(best.policy) if best else None
        return path if path and path.is_file() else None

    @cached_property
    def policy(self) -> TrainedPolicy | None:
        """The best of its policies, to be asked for actions; None if there is none any more."""
        from rewardgen.api.policy import TrainedPolicy  # it brings torch

        return TrainedPolicy(self.policy_path) if self.policy_path else None

    @property
    def verdict(self) -> Verdict | None:
        """What the critic found in it; None for the task's own rewards."""
        return self._record.verdict if self._record and self.id not in self.history.baselines else None

    @property
    def reason(self) -> str:
        """Why it has no fitness; empty if it has one."""
        return self._record.outcome if self._record else ""

    @property
    def row(self) -> dict[str, Any]:
        """What is known of it, as a row of `Run.table`."""
        shown = search_rows(self.history, [self.id], {})[0]
        candidate = self._record.candidate if self._record else None
        fitness, success, chosen = self.fitness, self.success, self.history.summary and self.history.summary.chosen
        return {
            "id": self.id,
            "generation": candidate.generation if candidate else None,
            "operator": shown.operator,
            "parents": ", ".join(candidate.parents) if candidate else "",
            "status": "chosen" if self.id == chosen else shown.status,
            "fitness": fitness.value if fitness else None,
            "fitness_low": fitness.low if fitness else None,
            "fitness_high": fitness.high if fitness else None,
            "success": success.value if success else None,
            "seeds": len(self.result.slices) if self.result else 0,
            "phase": self.phase if self.result else "",
            "about": shown.reason,
        }

    def __repr__(self) -> str:
        fitness = self.fitness
        told = f"fitness {with_interval(fitness)} ({self.phase})" if fitness else self.reason or "not trained"
        return f"<candidate {self.id}: {told}>"


class Run:
    """A run of the search, as it is in its folder now; `open_run` and `search` give one.

    Args:
        folder: The run's.
        history: What is known of it; read from the folder if not given.

    Raises:
        RunFolderError: The folder is damaged, or of another version.
    """

    def __init__(self, folder: RunFolder, history: History | None = None) -> None:
        self.folder = folder
        self.history = history or History.load(folder)
        """All that is known of the run, as the command line has it."""

    @property
    def id(self) -> str:
        """Its name."""
        return self.folder.id

    @property
    def path(self) -> Path:
        """Its folder."""
        return self.folder.path

    @property
    def task(self) -> str:
        """The task's name, or the path of its file."""
        return self.history.config.task if self.history.config else ""

    @property
    def status(self) -> Status:
        """`running`, `interrupted`, `failed` or `finished`."""
        return status_of(self.folder, self.history)

    @property
    def summary(self) -> Summary | None:
        """How it ended, with intervals and a conclusion in words; None until it has."""
        return self.history.summary

    @property
    def candidates(self) -> list[Candidate]:
        """All candidates of the search, in the order in which they were planned."""
        return [Candidate(self.folder, self.history, id) for id in self.history.ids()]

    @property
    def best(self) -> Candidate | None:
        """The chosen reward; before the end the one that leads the search; None if none could be trained."""
        if self.summary:
            return self[self.summary.chosen] if self.summary.chosen else None
        leader = self.history.best()
        return self[leader.candidate.id] if leader else None

    def __getitem__(self, id: str) -> Candidate:
        """A candidate by its id, or one of the task's own rewards, `human` and `sparse`."""
        known = [*self.history.ids(), *self.history.baselines]
        if id not in known:
            raise UsageError(f"run {self.id} has no candidate `{id}`", did_you_mean(str(id), known))
        return Candidate(self.folder, self.history, id)

    def rows(self) -> list[dict[str, Any]]:
        """What is known of each candidate, and of the task's own rewards."""
        return [self[id].row for id in (*self.history.ids(), *self.history.baselines)]

    def table(self) -> Any:
        """The rows as a pandas DataFrame; where pandas is not installed, as they are."""
        return data_frame(self.rows(), "id")

    def resume(
        self,
        *,
        generations: int = 0,
        progress: bool = True,
        track: Sequence[str] = (),
        **changes: Any,
    ) -> Run:
        """Take up the run where it was left, or have it go on with more generations.

        Args:
            generations: So many more.
            progress: As for `search`.
            track: As for `search`.
            **changes: Fields of its configuration that are set anew: `model`, `critic_model`, `api_base`, `max_cost`,
                `max_tokens`, `ablate`, `executor`, `cluster`.

        Returns:
            The run as it is now.

        Raises:
            UsageError: You did not start it here as it is; `rewardgen resume` says what it does, and asks.
            RewardgenError: As for `search`.
        """
        how = Resume(changes, generations=generations)
        with listening(progress, track, self.path.parent) as listener:
            outcome = resume(RunFolder(self.path.resolve()), listener, how)
        return ended(outcome, progress)

    @property
    def films(self) -> list[Film]:
        """Its films, as far as they were made."""
        return films_of(self.folder)

    def __repr__(self) -> str:
        return f"<run {self.id}: {self.status}, best {self.best!r}>" if self.best else f"<run {self.id}: {self.status}>"

    def _repr_html_(self) -> str:
        return run_html(self)


def open_run(ref: str | Path = "latest", runs_dir: str | Path = DEFAULT_RUNS_DIR) -> Run:
    """A run that there is; nothing of what lies in its folder is executed by opening it.

    Args:
        ref: `latest`, a run's id or a unique part of it, or the path of its folder.
        runs_dir: Where the runs are.

    Raises:
        RunFolderError: No run, or more than one, fits; or it is damaged, or of another version.
    """
    return Run(find_run(str(ref), Path(runs_dir)))


@contextmanager
def listening(progress: bool, track: Sequence[str], runs_dir: Path) -> Iterator[Listener]:
    """Whoever is told how a run goes.

    Args:
        progress: Whether it is shown.
        track: The trackers that are told.
        runs_dir: Where the run is.
    """
    with watching(progress) as listener, tracked(RunFiles(listener, runs_dir), track, runs_dir) as told:
        yield told


def ended(outcome: Outcome, progress: bool) -> Run:
    """A run that has just come to its end, with its films and report.

    Args:
        outcome: How it ended.
        progress: Whether to tell how these go.
    """
    close_run(outcome.folder, outcome.history, messages().print if progress else lambda text: None)
    return Run(outcome.folder, outcome.history)
