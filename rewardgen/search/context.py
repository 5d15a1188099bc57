"""The context of every step of the search: the configuration, the roles that do the work, and the run's memory."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from rewardgen.analyzer.analyzer import Analyzer
from rewardgen.core.asynchrony import run_coroutine
from rewardgen.core.config import RunConfig
from rewardgen.core.errors import BudgetExhausted
from rewardgen.core.provenance import usable_cores
from rewardgen.core.sequential import BLOCK
from rewardgen.critic.critic import Critic
from rewardgen.designer.protocol import Designer
from rewardgen.reward.observation import observed_names
from rewardgen.sandbox.process import WorkerCancelled
from rewardgen.search.judge import Judge
from rewardgen.search.judged import judged_card, judged_record
from rewardgen.search.strategy import Strategy
from rewardgen.search.teachers.protocol import Teacher
from rewardgen.store.history import History
from rewardgen.store.journal import Journal
from rewardgen.store.judgement_records import Judgement
from rewardgen.store.messages import Usage
from rewardgen.store.records import BASELINES, CandidateRecord, CandidateResult, TaskCard
from rewardgen.training.cache import BaselineCache
from rewardgen.training.protocol import Trainer
from rewardgen.training.setup import TRAINERS

Result = TypeVar("Result")


class Parts(NamedTuple):
    """The roles that do the work of a search."""

    designer: Designer
    critic: Critic
    analyzer: Analyzer
    trainer: Trainer
    strategy: Strategy
    judge: Judge
    usage: Callable[[], Usage]
    """Returns the usage of the run's model calls so far."""
    policies: Path
    """Folder of trained policies."""
    teacher: Teacher | None = None
    """Compares episodes for a judge that ranks by comparisons."""
    cache: BaselineCache | None = None
    """Trainings of the task's own rewards by other runs."""
    judge_result: Callable[[CandidateResult, tuple[str, ...]], Coroutine[Any, Any, Judgement]] | None = None
    """Asks a language model whether the chosen reward led to what the user and their feedback want."""


def processes(config: RunConfig, device: str) -> int:
    """Number of trainings side by side, each in a process; on a GPU all are one batch."""
    return 1 if device == "cuda" else config.workers or usable_cores()


def final_trainings(config: RunConfig, baselines: int) -> int:
    """Number of trainings in the finals at most: one block of seeds where nothing is compared."""
    if not (baselines or config.init):
        return min(BLOCK, config.final_seeds)
    compared = 1 + min(1, baselines) + (1 if config.init else 0)
    return config.final_seeds * compared + min(BLOCK, config.final_seeds) * max(0, baselines - 1)


def ablations(history: History, ids: Sequence[str] | None = None) -> int:
    """Number of rewards that the finals train for comparison with a winner that shows more to policies: 0 or 1."""
    if not (history.has_fitness and TRAINERS.get(history.training.trainer).has_eyes):
        return 0
    latest = {id: candidate for (id, _), candidate in sorted(history.designed.items()) if ids is None or id in ids}
    return int(any(observed_names(candidate.source) for candidate in latest.values()))


def search_steps_left(config: RunConfig, history: History) -> float:
    """Return the control steps left to trainings of a search, without those of the finals; infinite without a limit."""
    most = config.max_steps
    return math.inf if most is None else most - history.spent_steps - _final_steps(config, history)


def _final_steps(config: RunConfig, history: History) -> int:
    return history.training.env_steps * final_trainings(config, len(history.baselines) + ablations(history))


def finals_s(config: RunConfig, history: History) -> float:
    """Return the wall-clock time of the finals at most, estimated from the trainings so far [s].

    It is 0 before the first candidate has been trained: without one there are no finals to keep time for.
    """
    runs = [run for run in history.trained.values() if not run.failure and run.env_steps]
    if all(run.candidate_id in BASELINES for run in runs):
        return 0.0
    per_step_s = sum(run.wall_s for run in runs) / sum(run.env_steps for run in runs)
    return _final_steps(config, history) * per_step_s / processes(config, str(history.training.settings.get("device")))


def no_room(config: RunConfig, history: History) -> str:
    """Return the limit that leaves no steps for another generation and the finals; empty if there is room."""
    steps = config.candidates * config.seeds * history.training.env_steps
    if search_steps_left(config, history) >= steps:
        return ""
    return f"the limit of {config.max_steps or 0:,} steps has no room for another generation and the finals"


class Context(NamedTuple):
    """One run, as its steps see it."""

    parts: Parts
    journal: Journal

    @property
    def history(self) -> History:
        """State of the run so far."""
        return self.journal.history

    @property
    def config(self) -> RunConfig:
        """Configuration of the run."""
        return self.history.config

    @property
    def card(self) -> TaskCard:
        """The run's task."""
        return self.history.card

    @property
    def time_up(self) -> str:
        """Message once the time of the search is up; empty before."""
        return f"time limit of {self.config.max_minutes:g} min reached" if self.remaining_s == 0.0 else ""

    @property
    def remaining_s(self) -> float | None:
        """Wall-clock time left to the search [s]; None without a limit."""
        most = self.config.max_minutes
        return None if most is None else max(0.0, 60.0 * most - self._spent_s - finals_s(self.config, self.history))

    @property
    def overtime(self) -> bool:
        """True once the run, its finals included, has had all its time."""
        return self.config.max_minutes is not None and self._spent_s > 60.0 * self.config.max_minutes

    @property
    def _spent_s(self) -> float:
        return self.journal.elapsed_s - self.history.search_began_s

    @contextmanager
    def time_limit(self) -> Iterator[threading.Event]:
        """Yield an event that is set when the time of the search is up; unfinished work of a worker is dropped then."""
        up, remaining_s = threading.Event(), self.remaining_s
        timer = threading.Timer(remaining_s or 0.0, up.set)
        timer.daemon = True
        if remaining_s is not None:
            timer.start()
        try:
            yield up
        except WorkerCancelled:
            if not up.is_set():
                raise
        finally:
            timer.cancel()

    def records(self, before: int | None = None) -> list[CandidateRecord]:
        """All candidates in the order of planning, of all generations or those before an index."""
        generations = self.history.generations[:before]
        return [record for generation in generations for id in generation.ids if (record := self.history.record(id))]

    @property
    def shown_card(self) -> TaskCard:
        """The task card for prompts: without fitness where a teacher judges."""
        return judged_card(self.card, self.parts.teacher.words) if self.parts.teacher else self.card

    def shown(self, records: Sequence[CandidateRecord]) -> list[CandidateRecord]:
        """Return candidates for prompts: without fitness where a teacher judges."""
        if self.parts.teacher is None:
            return [*records]
        archive = self.records()
        ranking = self.parts.judge.rank(archive)
        return [judged_record(record, ranking, archive) for record in records]

    async def within_budget(self, call: Coroutine[Any, Any, Result], otherwise: Result) -> Result:
        """Return the result of a model call, or `otherwise` if money or time is up, which ends the search."""
        limit = asyncio.timeout(self.remaining_s)
        try:
            if self.time_up:
                call.close()  # not awaited: the request would be sent and paid
                raise BudgetExhausted(self.time_up)
            async with limit:
                return await call
        except BudgetExhausted as error:
            reason = error.message
        except TimeoutError:
            if not limit.expired():
                raise
            reason = self.time_up
        if not self.history.exhausted:
            self.journal.record("budget-exhausted", reason=reason)
        return otherwise

    def gather(self, calls: Sequence[Callable[[], Coroutine[Any, Any, None]]]) -> None:
        """Run calls concurrently. All of them end and are recorded before the first error is raised."""

        async def counted(call: Callable[[], Coroutine[Any, Any, None]]) -> None:
            try:
                await call()
            finally:  # after each call: a killed run shows what it had spent
                usage = self.parts.usage()
                if usage != self.history.usage:
                    self.journal.record("usage", usage=usage.model_dump(mode="json"))

        async def all_of_them() -> list[BaseException | None]:
            return await asyncio.gather(*map(counted, calls), return_exceptions=True)

        if not calls:
            return
        errors = [error for error in run_coroutine(all_of_them()) if error is not None]
        if errors:
            raise errors[0]
