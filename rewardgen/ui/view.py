"""A run at one moment, as a screen shows it, and what keeps up with a run from moment to moment."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from rewardgen.core.config import BUILTIN, FURTHER_SHARE, RunConfig
from rewardgen.core.provenance import usable_cores
from rewardgen.core.readable import count, money, tokens, with_spread
from rewardgen.core.sequential import BLOCK
from rewardgen.store.events import Event
from rewardgen.store.history import Generation, History, Phase
from rewardgen.store.records import BASELINES
from rewardgen.store.rows import Live, Row, final_rows, once_started, search_rows

_ENOUGH = 0.25
"""Trainings to have seen before a remaining time is told."""
_USUAL_BLOCKS = 2
"""Blocks of fresh seeds after which finals are often decided."""


class View(NamedTuple):
    """What a screen shows; made from a history and then independent of it."""

    run_id: str = ""
    task: str = ""
    model: str = ""
    stage: str = "starting"
    warning: str = ""
    """What speaks against the goal, or the steps of a training."""
    usage: str = ""
    """Price and tokens of language model calls so far, with the limit; empty for the built-in designer."""
    bar: str = ""
    """What the task's own rewards reached in the search."""
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
        rows = search_rows(history, (*current.ids, *(() if past else history.baselines)), live)
    return View(
        run_id=history.run_id,
        task=card.name,
        model="built-in designer" if config.model == BUILTIN else config.model,
        stage=stage(history),
        warning="; ".join(_warnings(history)),
        usage=usage,
        bar=bar_text(history) if past else "",
        past=tuple(past_line(history, each) for each in past),
        rows=tuple(once_started(rows)),
        elapsed_s=history.elapsed_s + since_s,
        remaining_s=_remaining(history, live, history.elapsed_s + since_s),
    )


def _warnings(history: History) -> Iterator[str]:
    if history.goal_check and history.goal_check.answer != "yes":
        yield history.goal_check.text
    if history.doubt and not history.raised:
        yield history.doubt


def stage(history: History) -> str:
    """Where the run is, in words."""
    if history.summary is not None:
        return "finished"
    if history.finalists:
        if any(phase == "confirm" for phase, _ in history.further):
            return "training with more steps, to see whether what was found lasts"
        opened, most = len(history.seeds("final", history.finalists[0])), len(history.final_seeds)
        return f"finals on {f'{opened} of ' if opened else ''}at most {count(most, 'fresh seed')}"
    if not history.generations or history.config is None:
        return "starting"
    current = history.generations[-1]
    return f"generation {generation_name(current)} ({current.index + 1} of at most {history.config.generations})"


def bar_text(history: History) -> str:
    """What the task's own rewards reached in the search; empty before that."""
    found = {name: result for name in BASELINES if (result := history.result("search", name))}
    told = (f"{name} {with_spread(each.fitness, each.fitness_spread)}" for name, each in found.items())
    return f"the task's own rewards: {', '.join(told)}" if found else ""


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
    """Time for the trainings still to come, by those so far, and for all else by what it took per generation."""
    config = history.config
    if config is None or history.status != "running" or history.summary is not None:
        return None
    workers = config.workers or usable_cores()
    trained = history.trained.values()
    going_on = [each for key, each in live.items() if key not in history.trained]
    steps = history.training.env_steps if history.training else 1
    begun = sum(min(1.0, each["env_steps"] / steps) for each in going_on)
    training_s = elapsed_s - history.training_since_s
    known_s = [each.wall_s for each in trained if not each.failure]
    if known_s:
        each_s = sum(known_s) / len(known_s) / workers
    elif begun >= _ENOUGH:
        each_s = training_s / begun
    else:
        return None
    spent_s = each_s * (len(trained) + begun)
    generations = max(0, config.generations - len(history.generations)) if not history.finalists else 0
    otherwise_s = max(0.0, elapsed_s - spent_s) / max(1, len(history.generations))
    return each_s * max(0.0, _trainings_left(history, config) - begun) + generations * otherwise_s


def _trainings_left(history: History, config: RunConfig) -> float:
    """Trainings that are not finished yet, as far as that can be foreseen; a rejected candidate is none."""
    finals = [("final", id, seed) for id in history.finalists for seed in history.seeds("final", id)]
    if finals:
        return sum(each not in history.trained for each in finals)
    seeds, baselines = len(history.search_seeds), len(history.baselines)
    rows = search_rows(history, history.ids(), {})
    tuned = (config.generations - 1) * config.tune
    planned = config.generations * config.candidates + tuned - sum(row.has_ended_badly for row in rows)
    further = planned * seeds / FURTHER_SHARE if config.leaders > 1 else 0.0
    blocks = min(len(history.final_seeds), _USUAL_BLOCKS * BLOCK)
    fresh = blocks * (1 + min(1, baselines)) + BLOCK * max(0, baselines - 1)
    return max(0.0, (planned + baselines) * seeds + further - len(history.trained)) + fresh


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
