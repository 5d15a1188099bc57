"""A run at one moment, as a screen shows it, and what keeps up with a run from moment to moment."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from rewardgen.core.config import BUILTIN
from rewardgen.store.events import Event
from rewardgen.store.history import Generation, History, Phase
from rewardgen.ui.format import count, money, tokens, with_spread
from rewardgen.ui.rows import Live, Row, final_rows, once_started, search_rows

_ENOUGH = 1.0
"""Trainings to have seen before a remaining time is told: the time so far counts designing too, the work does not."""


class View(NamedTuple):
    """What a screen shows; made from a history and then independent of it."""

    run_id: str = ""
    task: str = ""
    model: str = ""
    stage: str = "starting"
    warning: str = ""
    """What speaks against the goal."""
    usage: str = ""
    """Price and tokens of language model calls so far, with the limit; empty for the built-in designer."""
    past: tuple[str, ...] = ()
    """A line per generation that is not shown in rows."""
    rows: tuple[Row, ...] = ()
    elapsed_s: float = 0.0
    remaining_s: float | None = None
    """Rough time to the end; None where there is nothing yet to judge by."""


def view(history: History, live: Live, since_s: float = 0.0) -> View:
    """The view of a run.

    Args:
        history: What is known of the run.
        live: How far trainings are.
        since_s: Time that has gone by since the history's last event [s].
    """
    config, card = history.config, history.card
    if config is None or card is None:
        return View()
    usage = ""
    if config.model != BUILTIN:
        limit = f" of {money(config.max_cost)}" if config.max_cost is not None else ""
        spent = history.usage
        guessed = f" ({tokens(spent.estimated_tokens)} estimated)" if spent.estimated_tokens else ""
        usage = f"{money(spent.cost_usd)}{limit}, {tokens(spent.tokens)} tokens{guessed}, {count(spent.calls, 'call')}"
    past, rows = history.generations, []
    if history.summary is None and history.finalists:
        rows = final_rows(history, live)
    elif history.summary is None and past:
        *past, current = past
        rows = search_rows(history, current.ids, live)
    return View(
        run_id=history.run_id,
        task=card.name,
        model="built-in designer" if config.model == BUILTIN else config.model,
        stage=stage(history),
        warning=history.goal_check.text if history.goal_check and history.goal_check.answer != "yes" else "",
        usage=usage,
        past=tuple(past_line(history, each) for each in past),
        rows=tuple(once_started(rows)),
        elapsed_s=history.elapsed_s + since_s,
        remaining_s=_remaining(history, live, history.elapsed_s + since_s),
    )


def stage(history: History) -> str:
    """Where the run is, in words."""
    if history.summary is not None:
        return "finished"
    if history.finalists:
        return f"finals on {count(len(history.final_seeds), 'fresh seed')}"
    if not history.generations or history.config is None:
        return "starting"
    current = history.generations[-1]
    return f"generation {generation_name(current)} ({current.index + 1} of at most {history.config.generations})"


def generation_name(generation: Generation) -> str:
    """What the ids of a generation begin with, such as `g02`."""
    return generation.ids[0].split("-")[0]


def past_line(history: History, generation: Generation) -> str:
    """A generation in one line: what became of its candidates, and the best of the run after it."""
    rows = search_rows(history, generation.ids, {})
    numbers = Counter(row.status for row in rows)
    parts = [f"{numbers[status]} {status}" for status in ("trained", "rejected", "failed") if numbers[status]]
    result = history.result("search", generation.best.candidate_id) if generation.best else None
    leader = (
        f"best so far {result.candidate_id}, fitness {with_spread(result.fitness, result.fitness_spread)}"
        if result
        else "nothing trained so far"
    )
    return f"{generation_name(generation)}: {', '.join(parts)}; {leader}"


def _remaining(history: History, live: Live, elapsed_s: float) -> float | None:
    """Time so far, scaled by the trainings still to come; a rejected candidate is a training less."""
    config = history.config
    rows = search_rows(history, history.ids(), live)
    finals = final_rows(history, live)
    if config is None:
        return None
    seeds, fresh = len(history.search_seeds), len(history.final_seeds)
    done = seeds * sum(row.progress for row in rows) + fresh * sum(row.progress for row in finals)
    if done < _ENOUGH or history.status != "running":
        return None
    left = fresh * (sum(1 - row.progress for row in finals if not row.has_ended_badly))
    if not finals:
        planned = config.generations * config.candidates
        over = sum(1.0 if row.has_ended_badly else row.progress for row in rows)
        left = seeds * max(0.0, planned - over) + fresh * (config.finalists + len(history.baselines))
    return elapsed_s * left / done


class Watcher:
    """Keeps up with a run, for whoever shows it: the part of a `Listener` that the screen and plain lines share."""

    def __init__(self) -> None:
        self._history = History()
        self._live: dict[tuple[Phase, str, int], dict[str, Any]] = {}
        self._at = time.monotonic()
        self._lock = threading.Lock()

    def event(self, event: Event, history: History) -> None:
        """Take in an event."""
        with self._lock:
            self._history, self._at = history, time.monotonic()
            self._on_event(event)

    def progress(self, message: dict[str, Any]) -> None:
        """Take in an evaluation during training."""
        with self._lock:
            self._live[message["phase"], message["candidate_id"], message["seed"]] = message
            self._on_progress()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Leave the terminal to a question."""
        yield

    def _view(self) -> View:
        return view(self._history, self._live, time.monotonic() - self._at)

    def _on_event(self, event: Event) -> None:
        raise NotImplementedError

    def _on_progress(self) -> None:
        raise NotImplementedError
