"""A run at one moment, as a screen shows it, and what keeps up with a run from moment to moment."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from rewardgen.core.config import BUILTIN, FURTHER_SHARE, RunConfig
from rewardgen.core.formatting import count, money, tokens, with_spread
from rewardgen.core.provenance import usable_cores
from rewardgen.core.sequential import BLOCK
from rewardgen.store.events import Event
from rewardgen.store.history import Generation, History
from rewardgen.store.progress import Live, LiveProgress
from rewardgen.view.rows import Row, confirmation_rows, final_rows, once_started, planned_steps, search_rows

_ENOUGH = 0.1
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
    past: tuple[str, ...] = ()
    """A line per generation that is not shown in rows."""
    rows: tuple[Row, ...] = ()
    """Of the candidates under way, then of the task's own rewards, for comparison."""
    elapsed_s: float = 0.0
    done: float = 0.0
    """Share of the trainings of the run that are done, as far as they can be foreseen."""
    remaining_s: float | None = None
    """Rough time to the end, without answers to a mailbox; None where there is nothing yet to judge by."""
    mailbox: Path | None = None
    """Where requests wait for replies, if the model is a mailbox."""


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
        rows = confirmation_rows(history, live) or final_rows(history, live)
    elif history.summary is None and past:
        *past, current = past
        rows = search_rows(history, (*current.ids, *history.baselines), live)
    rows, elapsed_s = once_started(rows), history.elapsed_s + since_s
    done, remaining_s = _foreseen(history, live, elapsed_s)
    doing = _doing(rows) if history.status == "running" and rows else ""
    scheme, _, place = config.model.partition(":")
    return View(
        run_id=history.run_id,
        task=card.name,
        model="built-in designer" if config.model == BUILTIN else config.model,
        stage=stage(history) + (f": {doing}" if doing else ""),
        warning="; ".join(_warnings(history)),
        usage=usage,
        past=tuple(past_line(history, each) for each in past),
        rows=tuple(rows),
        elapsed_s=elapsed_s,
        done=done,
        remaining_s=remaining_s,
        mailbox=Path(place) if scheme == "mailbox" else None,
    )


def _doing(rows: list[Row]) -> str:
    """What the run is at, by what its candidates are at."""
    states = [row.status for row in rows if row.operator != "baseline"]
    if "designing" in states:
        return f"designing, {len(states) - states.count('designing')} of {len(states)} are in"
    if found := [each for each in ("repairing", "checking") if each in states]:
        return found[0]
    return "training" if any(row.status in ("training", "waiting") for row in rows) else "analysing"


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


def near(path: Path) -> Path:
    """A path as it is named from where the user is, if it lies below."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


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


def _foreseen(history: History, live: Live, elapsed_s: float) -> tuple[float, float | None]:
    """Share of the trainings that is done, and the time to the end.

    Trainings to come take what those so far did; all else, what it took per generation, but for waiting at a mailbox.
    """
    config = history.config
    if history.summary is not None:
        return 1.0, None
    if config is None or history.training is None:
        return 0.0, None
    workers = config.workers or usable_cores()
    each_steps = history.training.env_steps
    under_way = [each["env_steps"] for key, each in live.items() if "env_steps" in each and key not in history.trained]
    begun = sum(min(1.0, steps / each_steps) for steps in under_way)
    search, finals = _trainings_left(history, config)
    left = max(0.0, search + finals - begun)
    done = len(history.trained) + begun
    share = done / max(1.0, done + left)
    if history.status != "running":
        return share, None
    known = [each.wall_s / each.env_steps for each in history.trained.values() if not each.failure and each.env_steps]
    if known:
        each_s = each_steps * sum(known) / len(known) / workers
    elif begun >= _ENOUGH:
        each_s = (elapsed_s - history.training_since_s) / begun
    else:
        return share, None
    otherwise_s = 0.0
    if not config.model.startswith("mailbox:"):
        now_s = elapsed_s - history.elapsed_s if begun else 0.0
        otherwise_s = max(0.0, elapsed_s - history.training_s - now_s) / max(1, len(history.generations))
    to_come = 0 if history.stop_reason else max(0, config.generations - len(history.generations))
    search_s = each_s * max(0.0, search - begun) + to_come * otherwise_s
    if config.max_minutes is not None and not history.stop_reason:
        left_s = 60.0 * config.max_minutes - (elapsed_s - history.began_s) - each_s * finals
        search_s = min(search_s, max(0.0, left_s))
    return share, search_s + each_s * max(0.0, finals - max(0.0, begun - search))


def _trainings_left(history: History, config: RunConfig) -> tuple[float, float]:
    """Trainings of the search and of the finals that are not finished yet, as far as that can be foreseen.

    A rejected candidate is none; one that has more steps counts as several.
    """
    opened = [("final", id, seed) for id in history.finalists for seed in history.seeds("final", id)]
    if opened:
        longer = [(phase, id, seed) for (phase, id), seeds in history.further.items() for seed in seeds]
        longer = [each for each in longer if each[0] == "confirm" and each not in history.trained]
        weight = planned_steps(history, "confirm") / max(1.0, planned_steps(history, "final"))
        usual = min(len(history.final_seeds), _USUAL_BLOCKS * BLOCK) - len(history.seeds("final", history.finalists[0]))
        unopened = 0 if longer else max(0, usual) * min(2, len(history.finalists))
        return 0.0, sum(each not in history.trained for each in opened) + unopened + weight * len(longer)
    seeds, baselines = len(history.search_seeds), len(history.baselines)
    blocks = min(len(history.final_seeds), _USUAL_BLOCKS * BLOCK)
    finals = blocks * (1 + min(1, baselines)) + BLOCK * max(0, baselines - 1)
    if history.stop_reason:
        opened = [(phase, id, seed) for (phase, id), more in history.further.items() for seed in more]
        return sum(each not in history.trained for each in opened), finals
    rows = search_rows(history, history.ids(), {})
    tuned = (config.generations - 1) * config.tune
    planned = config.generations * config.candidates + tuned - sum(row.has_ended_badly for row in rows)
    further = planned * seeds / FURTHER_SHARE if config.leaders > 1 else 0.0
    return max(0.0, (planned + baselines) * seeds + further - len(history.trained)), finals


class Watcher:
    """Keeps up with a run, for whoever shows it: the part of a `Listener` that the screen and plain lines share."""

    def __init__(self) -> None:
        self._history = History()
        self._live = LiveProgress()
        self._at = time.monotonic()
        self._lock = threading.Lock()

    def event(self, event: Event, history: History) -> None:
        """Take in an event."""
        with self._lock:
            self._history, self._at = history, time.monotonic()
            self._live.event(event)
            self._on_event(event)

    def late(self, seconds: float) -> None:
        """The event that was told last had been so long ago."""
        with self._lock:
            self._at -= seconds
            self._on_progress()

    def progress(self, message: dict[str, Any]) -> None:
        """Take in how far a review or a training is."""
        with self._lock:
            self._live.progress(message)
            self._on_progress()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Leave the terminal to a question."""
        yield

    def _view(self) -> View:
        return view(self._history, self._live.told, time.monotonic() - self._at)

    def _on_event(self, event: Event) -> None:
        raise NotImplementedError

    def _on_progress(self) -> None:
        raise NotImplementedError
