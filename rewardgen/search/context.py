"""What every step of the search works with: what was asked, who does the work, and the run's memory."""

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
from rewardgen.sandbox.process import WorkerCancelled
from rewardgen.search.judge import Judge
from rewardgen.search.strategy import Strategy
from rewardgen.store.history import History
from rewardgen.store.journal import Journal
from rewardgen.store.messages import Usage
from rewardgen.store.records import CandidateRecord, CandidateResult, Judgement, TaskCard
from rewardgen.training.cache import BaselineCache
from rewardgen.training.protocol import Trainer

Result = TypeVar("Result")


class Parts(NamedTuple):
    """Who does the work of a search."""

    designer: Designer
    critic: Critic
    analyzer: Analyzer
    trainer: Trainer
    longer: Callable[[float], Trainer]
    """Makes a trainer with so many times the steps."""
    strategy: Strategy
    judge: Judge
    usage: Callable[[], Usage]
    """What the language model calls of the run took so far."""
    policies: Path
    """Folder for trained policies."""
    cache: BaselineCache | None = None
    """Trainings of the task's own rewards by other runs."""
    judge_result: Callable[[CandidateResult, tuple[str, ...]], Coroutine[Any, Any, Judgement]] | None = None
    """A language model that says whether what came of the chosen reward is what was asked for, by feedback too."""


def processes(config: RunConfig, device: str) -> int:
    """How many trainings of a run go on side by side, each in a process: on a GPU all are one batch.

    Args:
        config: Of the run.
        device: On which it trains, as the trainer's settings have it.
    """
    return 1 if device == "cuda" else config.workers or usable_cores()


def final_trainings(config: RunConfig, baselines: int) -> int:
    """Trainings of the finals at most.

    Args:
        config: Of the run.
        baselines: How many rewards the task has of its own.
    """
    first = min(BLOCK, config.final_seeds)
    longer = math.ceil(first * 2 * config.confirm) if config.confirm and baselines else 0
    longer += config.final_seeds if config.init else 0
    return config.final_seeds * (1 + min(1, baselines)) + first * max(0, baselines - 1) + longer


class Context(NamedTuple):
    """One run, as its steps see it. Every step asks the history first and records what it did."""

    config: RunConfig
    card: TaskCard
    parts: Parts
    journal: Journal

    @property
    def history(self) -> History:
        """All that is known of the run so far."""
        return self.journal.history

    @property
    def steps_left(self) -> float:
        """Control steps that are left to trainings; infinite without a limit."""
        most = self.config.max_steps
        return math.inf if most is None else most - self.history.spent_steps

    @property
    def final_steps(self) -> int:
        """Control steps that the finals take at most."""
        assert self.history.training is not None
        return self.history.training.env_steps * final_trainings(self.config, len(self.history.baselines))

    @property
    def time_up(self) -> str:
        """That the time of the search is up, in words; empty if it is not."""
        return f"time limit of {self.config.max_minutes:g} min reached" if self.remaining_s == 0.0 else ""

    @property
    def remaining_s(self) -> float | None:
        """Wall-clock time that is left to the search [s]; None without a limit."""
        most = self.config.max_minutes
        spent_s = self.journal.elapsed_s - self.history.began_s
        return None if most is None else max(0.0, 60.0 * most - spent_s - self._final_s)

    @property
    def _final_s(self) -> float:
        """Wall-clock time that the finals take at most, by the trainings so far [s]; 0 before there is one."""
        known = [each for each in self.history.trained.values() if not each.failure and each.env_steps]
        if not known:
            return 0.0
        per_step_s = sum(each.wall_s for each in known) / sum(each.env_steps for each in known)
        device = str(self.history.training.settings.get("device")) if self.history.training else "cpu"
        return self.final_steps * per_step_s / processes(self.config, device)

    @contextmanager
    def time_limit(self) -> Iterator[threading.Event]:
        """An event that is set when the time of the search is up; what a worker was at then is left undone."""
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
        """All candidates so far, in order; only those of generations before an index, if one is given."""
        generations = self.history.generations[:before]
        return [record for each in generations for id in each.ids if (record := self.history.record(id))]

    async def within_budget(self, call: Coroutine[Any, Any, Result], otherwise: Result) -> Result:
        """The result of a language model's call; `otherwise` if money or time is up, which ends the search."""
        limit = asyncio.timeout(self.remaining_s)
        try:
            if self.time_up:
                call.close()  # begun, it would be sent and paid for
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

    def gather(self, calls: Sequence[Coroutine[Any, Any, None]]) -> None:
        """Run calls concurrently. All of them end, and are recorded, before the first error is raised."""

        async def all_of_them() -> list[BaseException | None]:
            return await asyncio.gather(*calls, return_exceptions=True)

        if not calls:
            return
        try:
            errors = [each for each in run_coroutine(all_of_them()) if each is not None]
        finally:
            usage = self.parts.usage()
            if usage != self.history.usage:
                self.journal.record("usage", usage=usage.model_dump(mode="json"))
        if errors:
            raise errors[0]
