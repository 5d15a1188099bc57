"""Runs and their candidates in Python: `rewardgen.run` and `rewardgen.open_run`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rewardgen.api.display import data_frame, run_html
from rewardgen.api.reward import Reward
from rewardgen.api.tracking import tracked
from rewardgen.core.config import BUILTIN, checked_config
from rewardgen.core.errors import UsageError
from rewardgen.core.formatting import with_interval
from rewardgen.core.statistics import Interval, bootstrap_interval, mean_interval, proportion_interval
from rewardgen.film.film_index import Film, films_of
from rewardgen.report.closing import close_run
from rewardgen.report.run_files import RunFiles
from rewardgen.search import lifecycle
from rewardgen.serve import asking as _asking  # noqa: F401  (registers the judge `human`)
from rewardgen.store.history import History, Phase, Status, Summary, status_of
from rewardgen.store.journal import Listener, SilentListener
from rewardgen.store.records import CandidateResult, Verdict
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR, RunFolder, find_run
from rewardgen.ui.console import messages
from rewardgen.ui.plain import Plain
from rewardgen.ui.screen import Notebook, Screen, in_notebook
from rewardgen.view.progress import Watcher
from rewardgen.view.reference import require_candidate
from rewardgen.view.rows import search_rows

if TYPE_CHECKING:
    from rewardgen.api.environment import TrainedPolicy


class RunCandidate:
    """One reward of a run with its results; also the task's own rewards.

    The numbers are from the fresh seeds of the latest finals if the reward was trained on them, else from the search.
    """

    def __init__(self, folder: RunFolder, history: History, id: str) -> None:
        self.id = id
        self.folder, self.history = folder, history
        self._record = history.record(id) or history.baseline_record(id)
        self.phase: Phase = "final" if history.result("final", id) else "search"
        """Phase of the numbers: `final` or `search`."""

    @property
    def source(self) -> str:
        """Python source of the reward; empty if the designer's reply held none."""
        return self._record.candidate.source if self._record else self.history.baselines.get(self.id, "")

    @cached_property
    def reward(self) -> Reward:
        """The reward as a callable; `Reward` says what makes calling it safe.

        Raises:
            UsageError: The candidate has no code.
        """
        if not self.source:
            raise UsageError(f"{self.id} has no code: {self.reason}", "take another candidate")
        return Reward(self.source, self.id)

    @cached_property
    def result(self) -> CandidateResult | None:
        """Training results, one per seed; None if the candidate was not trained."""
        return self.history.result(self.phase, self.id)

    @property
    def fitness(self) -> Interval | None:
        """Fitness with a 95 % interval; None if training failed or did not happen, or the task has no fitness.

        As the report has it: the interquartile mean of the fresh seeds, or the mean over the seeds of the search.
        """
        summary, values = self.history.summary, [*self.result.by_seed.values()] if self.result else []
        if not self.history.has_fitness:
            return None
        if self.phase == "search" or not values:
            return mean_interval(values) if values else None
        row = summary.row(self.id) if summary else None
        return row.fitness if row and row.fitness else bootstrap_interval(values)

    @property
    def success(self) -> Interval | None:
        """Success rate with a 95 % interval; None if training failed or did not happen."""
        rates = [slice.final_success_rate for slice in self.result.slices] if self.result and self.fitness else []
        measured = [rate for rate in rates if rate is not None]
        return proportion_interval(measured, self.history.starts) if measured else None

    @property
    def policy_path(self) -> Path | None:
        """File of the policy with the median fitness; None if the file does not exist."""
        typical = self.result.typical if self.result else None
        path = self.folder.policies_of(self.phase) / str(typical.policy) if typical else None
        return path if path and path.is_file() else None

    @cached_property
    def policy(self) -> TrainedPolicy | None:
        """The policy with the median fitness; None if its file does not exist."""
        from rewardgen.api.environment import TrainedPolicy  # it brings torch

        return TrainedPolicy(self.policy_path) if self.policy_path else None

    @property
    def verdict(self) -> Verdict | None:
        """Findings of the critic; None for the task's own rewards."""
        return self._record.verdict if self._record and self.id not in self.history.baselines else None

    @property
    def reason(self) -> str:
        """Reason for a missing fitness; empty if there is a fitness."""
        return self._record.outcome if self._record else ""

    @property
    def row(self) -> dict[str, Any]:
        """The candidate as a row of `Run.table`."""
        row = search_rows(self.history, [self.id], {})[0]
        candidate = self._record.candidate if self._record else None
        fitness, success, chosen = self.fitness, self.success, self.history.summary and self.history.summary.chosen
        return {
            "id": self.id,
            "generation": candidate.generation if candidate and self.id not in self.history.baselines else None,
            "operator": row.operator,
            "parents": ", ".join(candidate.parents) if candidate else "",
            "status": "chosen" if self.id == chosen else row.status,
            "fitness": fitness.value if fitness else None,
            "fitness_low": fitness.low if fitness else None,
            "fitness_high": fitness.high if fitness else None,
            "success": success.value if success else None,
            "seeds": len(self.result.slices) if self.result else 0,
            "phase": self.phase if self.result else "",
            "about": row.reason,
        }

    def __repr__(self) -> str:
        fitness = self.fitness
        outcome = f"fitness {with_interval(fitness)} ({self.phase})" if fitness else self.reason
        outcome = outcome or ("trained" if self.result else "not trained")
        return f"<candidate {self.id}: {outcome}>"


class Run:
    """A run, read from its folder; `open_run` and `run` return one.

    Args:
        folder: Folder of the run.
        history: History of the run; default: read from the folder.

    Raises:
        RunFolderError: The folder is damaged or was written by another version.
    """

    def __init__(self, folder: RunFolder, history: History | None = None) -> None:
        self.folder = folder
        self.history = history or History.load(folder)
        """Everything recorded about the run."""

    @property
    def id(self) -> str:
        """Name of the run."""
        return self.folder.id

    @property
    def path(self) -> Path:
        """Folder of the run."""
        return self.folder.path

    @property
    def task(self) -> str:
        """Name of the task, or path of its file."""
        return self.history.config.task

    @property
    def status(self) -> Status:
        """`running`, `interrupted`, `failed` or `finished`."""
        return status_of(self.folder, self.history)

    @property
    def summary(self) -> Summary | None:
        """Closing table and conclusion; None before the end."""
        return self.history.summary

    @property
    def candidates(self) -> list[RunCandidate]:
        """All candidates of the search, in planning order."""
        return [RunCandidate(self.folder, self.history, id) for id in self.history.ids()]

    @property
    def best(self) -> RunCandidate | None:
        """The chosen reward, or the leader of an unfinished search; None if no candidate could be trained."""
        if self.summary:
            return self[self.summary.chosen] if self.summary.chosen else None
        leader = self.history.best()
        return self[leader.candidate.id] if leader else None

    def __getitem__(self, id: str) -> RunCandidate:
        """Return a candidate by id, or one of the task's own rewards, `human` and `sparse`."""
        require_candidate(self.folder, self.history, str(id))
        return RunCandidate(self.folder, self.history, id)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row per candidate and per own reward of the task."""
        return [self[id].row for id in (*self.history.ids(), *self.history.baselines)]

    def table(self) -> Any:
        """Return the rows as a pandas DataFrame, or as a list if pandas is not installed."""
        return data_frame(self.rows(), "id")

    def resume(
        self,
        *,
        generations: int = 0,
        progress: bool = True,
        track: Sequence[str] = (),
        **changes: Any,
    ) -> Run:
        """Continue an interrupted run, or add generations to a finished one.

        Args:
            generations: Number of further generations.
            progress: See `rewardgen.run`.
            track: See `rewardgen.run`.
            **changes: New values of `model`, `critic_model`, `judge`, `api_base`, `max_minutes`, `max_steps`,
                `max_cost`, `max_tokens`, `ablate`, `workers`, `executor`, `cluster`.

        Returns:
            The continued run.

        Raises:
            UsageError: You did not start this run here; `rewardgen resume` asks whether to trust it.
            RewardgenError: See `rewardgen.run`.
        """
        how = lifecycle.Resume(lifecycle.lasting_changes(changes, self.path.parent), generations=generations)
        with _listening(progress, track, self.path.parent) as listener:
            outcome = lifecycle.resume(RunFolder(self.path.resolve()), listener, how)
        return _closed(outcome, progress, agreed=False)

    @property
    def films(self) -> list[Film]:
        """Finished films of the run."""
        return films_of(self.folder)

    def __repr__(self) -> str:
        return f"<run {self.id}: {self.status}, best {self.best!r}>" if self.best else f"<run {self.id}: {self.status}>"

    def _repr_html_(self) -> str:
        return run_html(self)


def open_run(ref: str | Path = "latest", runs_dir: str | Path = DEFAULT_RUNS_DIR) -> Run:
    """Open a run. Nothing in its folder is executed.

    Args:
        ref: `latest`, a run's id or a unique part of it, or the path of its folder.
        runs_dir: Folder of the runs.

    Raises:
        RunFolderError: No run or several runs match; or the run is damaged or of another version.
    """
    return Run(find_run(str(ref), Path(runs_dir)))


def run(
    task: str | Path,
    *,
    model: str = BUILTIN,
    runs_dir: str | Path = DEFAULT_RUNS_DIR,
    progress: bool = True,
    track: Sequence[str] = (),
    **options: Any,
) -> Run:
    """Search for a reward until the run ends. Everything is saved on the way, also at Ctrl-C.

    No question is asked: limit the price of calls with `max_cost`. Works in notebooks and inside a running event
    loop; a script needs no `if __name__ == "__main__":`.

    Args:
        task: Name of a shipped task, or path of a task file.
        model: `builtin`, a LiteLLM model string, `mailbox:DIR`, or `replay:RUN`.
        runs_dir: Folder of the runs.
        progress: True to show progress, in the notebook cell or on standard error.
        track: Names of experiment trackers, such as `tensorboard`.
        **options: Fields of `rewardgen.core.config.RunConfig`, such as `generations`, `candidates`, `seeds`,
            `final_seeds`, `env_steps`, `goal`, `max_minutes`, `max_cost`.

    Raises:
        RewardgenError: The task, the model or an option cannot be used, or a call failed for good.
        KeyboardInterrupt: The run was interrupted; `Run.resume` continues it.
    """
    options = {name: str(value) if isinstance(value, Path) else value for name, value in options.items()}
    config = checked_config({"task": str(task), "model": model, **options}, None)
    with _listening(progress, track, Path(runs_dir)) as listener:
        outcome = lifecycle.start(config, Path(runs_dir), listener)
    return _closed(outcome, progress)


@contextmanager
def display() -> Iterator[Watcher]:
    """Show a run in a notebook cell, on a terminal, or as plain lines."""
    console = messages()
    if in_notebook():
        yield Notebook()
    elif console.is_terminal and not console.is_dumb_terminal:
        with Screen(console) as screen:
            yield screen
    else:
        yield Plain(console)


@contextmanager
def _listening(progress: bool, track: Sequence[str], runs_dir: Path) -> Iterator[Listener]:
    watcher = display() if progress else nullcontext(SilentListener())
    with watcher as listener, tracked(RunFiles(listener, runs_dir), track, runs_dir) as tracking:
        yield tracking


def _closed(outcome: lifecycle.EndedRun, progress: bool, agreed: bool = True) -> Run:
    close_run(outcome.folder, outcome.history, messages().print if progress else lambda text: None, agreed=agreed)
    return Run(outcome.folder, outcome.history)
