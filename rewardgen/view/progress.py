"""A run at one moment, as a screen shows it, and the watcher that keeps up with it."""

from __future__ import annotations

import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from rewardgen.core.config import BUILTIN, RunConfig
from rewardgen.core.formatting import count, duration, money, roughly, tokens, with_spread
from rewardgen.search.forecast import remaining
from rewardgen.store.events import Event
from rewardgen.store.history import Generation, History
from rewardgen.store.journal import Listener
from rewardgen.store.progress import Live, LiveProgress
from rewardgen.view.rows import Row, final_rows, once_started, search_rows

_RACING = "comparing training settings"


class View(NamedTuple):
    """Content of a screen; independent of the history once made."""

    run_id: str = ""
    task: str = ""
    model: str = ""
    stage: str = "starting"
    warning: str = ""
    """Objections to the goal or the step budget."""
    usage: str = ""
    """Price and tokens of language model calls, with the limit; empty for the built-in designer."""
    past: tuple[str, ...] = ()
    """A line on the training settings, if they were compared, and one per generation without rows."""
    rows: tuple[Row, ...] = ()
    """Candidates under way, then the task's own rewards."""
    best_fitness: float | None = None
    """Highest possible fitness; None if unknown."""
    elapsed_s: float = 0.0
    done: float = 0.0
    """Estimated share of the run's trainings that are done."""
    remaining_s: float | None = None
    """Estimated time to the end, without waiting for a mailbox or a person; None before the first evaluations."""
    mailbox: Path | None = None
    """Folder of requests that wait for replies, if the model is a mailbox."""
    person: bool = False
    """True if a person compares the films."""

    films: bool = False
    """True if films are made after the end."""

    def times(self, since_s: float = 0.0, waiting: int = 0) -> str:
        """Return the time taken and the time left in words, some seconds after the view was made.

        Requests that wait in the mailbox come before any further training.
        """
        left = self.left(since_s)
        then = "then " if waiting else ""
        return ", ".join(filter(None, (duration(self.elapsed_s + since_s), left and then + left)))

    def left(self, since_s: float = 0.0) -> str:
        """Time left in words, some seconds after the view was made; empty while unknown."""
        if self.remaining_s is None:
            return ""
        if self.mailbox or self.person:
            return f"{roughly(self.remaining_s)} of training"
        return f"{roughly(max(0.0, self.remaining_s - since_s))} left{', then films' if self.films else ''}"


def view(history: History, live: Live, since_s: float = 0.0) -> View:
    """The view of a run, some seconds after the history's last event."""
    if not history.run_id:
        return View()
    config, card = history.config, history.card
    past, rows = history.generations, []
    if history.summary is None and history.finalists:
        rows = final_rows(history, live)
    elif history.summary is None and past:
        *past, current = past
        rows = search_rows(history, (*current.ids, *history.baselines), live)
    rows, elapsed_s = once_started(rows), history.elapsed_s + since_s
    done, remaining_s = remaining(history, live, elapsed_s)
    doing = _doing(rows) if history.status == "running" and rows else ""
    if doing == "training" and history.raced and not history.trained:
        doing = _RACING
    mailboxes = [name.removeprefix("mailbox:") for name in config.models if name.startswith("mailbox:")]
    return View(
        run_id=history.run_id,
        task=card.name,
        model="built-in designer" if config.model == BUILTIN else config.model,
        stage=stage(history) + (f": {doing}" if doing else ""),
        warning="; ".join(doubts(history)),
        usage=_usage(history, config),
        past=(
            *([history.race.text] if history.race else []),
            *(past_line(history, generation) for generation in past),
        ),
        rows=tuple(rows),
        best_fitness=card.best_fitness,
        elapsed_s=elapsed_s,
        done=done,
        remaining_s=remaining_s,
        mailbox=Path(mailboxes[0]) if mailboxes else None,
        person=config.judge.startswith("human"),
        films=config.films,
    )


def _usage(history: History, config: RunConfig) -> str:
    if config.model == BUILTIN and not history.usage.calls:
        return ""
    usage = history.usage
    if usage.calls and not usage.tokens:
        return count(usage.calls, "call")
    limit = f" of {money(config.max_cost)}" if config.max_cost is not None else ""
    estimated = f" ({tokens(usage.estimated_tokens)} estimated)" if usage.estimated_tokens else ""
    return f"{money(usage.cost_usd)}{limit}, {tokens(usage.tokens)} tokens{estimated}, {count(usage.calls, 'call')}"


def _doing(rows: list[Row]) -> str:
    states = [row.status for row in rows if row.operator != "baseline"]
    if "designing" in states:
        return f"designing, {len(states) - states.count('designing')} of {len(states)} done"
    for state in ("repairing", "checking"):
        if state in states:
            return state
    return "training" if any(row.status in ("training", "waiting") for row in rows) else "analysing"


def doubts(history: History) -> list[str]:
    """Objections to the goal and to the step budget."""
    texts = [history.goal_check.text] if history.goal_check and history.goal_check.answer != "yes" else []
    return texts + ([history.steps_doubt] if history.steps_doubt else [])


def stage(history: History) -> str:
    """The current stage in words."""
    if history.summary is not None:
        return "finished"
    if history.finalists:
        opened, most = len(history.seeds("final", history.finalists[0])), len(history.final_seeds)
        return f"finals on {f'{opened} of ' if opened else ''}at most {count(most, 'fresh seed')}"
    if not history.generations:
        return _RACING if history.raced else "starting"
    current = history.generations[-1]
    return f"generation g{current.index:02d} ({current.index + 1} of at most {history.config.generations})"


def near(path: Path) -> Path:
    """A path relative to the working directory, if it lies below."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def past_line(history: History, generation: Generation) -> str:
    """A generation in one line: outcomes of its candidates, and the best so far."""
    rows = search_rows(history, generation.ids, {})
    numbers = Counter("trained" if row.has_numbers else row.status for row in rows)  # a leader may get another seed
    parts = [f"{numbers[status]} {status}" for status in ("trained", "rejected", "failed") if numbers[status]]
    best, leader = generation.best, "nothing trained so far"
    result = history.result("search", best.candidate_id) if best else None
    if best and result:
        merit = f"fitness {with_spread(result.fitness, result.fitness_spread)}"
        if history.by_answers:
            merit = f"strength {with_spread(best.estimate, best.standard_error)}"
        leader = f"best so far {result.candidate_id}, {merit}"
    return f"g{generation.index:02d}: {', '.join(parts)}; {leader}"


class Watcher(Listener):
    """Keeps up with a run for a screen or plain lines."""

    def __init__(self) -> None:
        self._history = History()
        self._live = LiveProgress()
        self._done = 0.0
        self._at = time.monotonic()
        self._lock = threading.Lock()

    def event(self, event: Event, history: History) -> None:
        """Take in an event."""
        with self._lock:
            self._history, self._at = history, time.monotonic()
            self._live.event(event)
            self._on_event(event)

    def late(self, seconds: float) -> None:
        """Correct the time of the last event, which is that old."""
        with self._lock:
            self._at -= seconds
            self._on_progress()

    def progress(self, message: dict[str, Any]) -> None:
        """Take in the progress of a review or a training."""
        with self._lock:
            self._live.progress(message)
            self._on_progress()

    def _view(self) -> View:
        """Return the view now; a longer estimate does not take back what is done."""
        now = view(self._history, self._live.messages, time.monotonic() - self._at)
        self._done = max(self._done, now.done)
        return now._replace(done=self._done)

    def _on_event(self, event: Event) -> None:
        """Called for each event."""

    def _on_progress(self) -> None:
        """Called for each progress message."""
