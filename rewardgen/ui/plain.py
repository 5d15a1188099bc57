"""A run as plain lines, for a log file, a pipe or a terminal that cannot redraw."""

from __future__ import annotations

import threading
import time
from typing import Any

from rich.console import Console

from rewardgen.core.formatting import percent
from rewardgen.store.events import Event
from rewardgen.store.history import History, Phase
from rewardgen.ui.format import count, first_sentence, number, roughly, with_spread
from rewardgen.ui.rows import Row, final_rows, rejection, search_rows
from rewardgen.ui.view import View, past_line, stage, view

_PULSE_S = 30.0
"""Least time between two lines on the progress of a training [s]."""


class Plain:
    """Prints a line for every step of a run. It is a `Listener`.

    Args:
        console: Where to print.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._history = History()
        self._live: dict[tuple[Phase, str, int], dict[str, Any]] = {}
        self._at = time.monotonic()
        self._pulse = self._at
        self._lock = threading.Lock()

    def event(self, event: Event, history: History) -> None:
        """Print what an event says, if it says something new to a reader."""
        with self._lock:
            self._history = history
            self._at = time.monotonic()
            if text := describe(event, history):
                self._print(text, event.elapsed_s)

    def progress(self, message: dict[str, Any]) -> None:
        """Now and then, print how far the training is."""
        with self._lock:
            self._live[message["phase"], message["candidate_id"], message["seed"]] = message
            if time.monotonic() - self._pulse >= _PULSE_S:
                self._pulse = time.monotonic()
                self._print(_training_line(view(self._history, self._live, self._pulse - self._at)), None)

    def note(self, text: str) -> None:
        """Print a line."""
        self._print(text, None)

    def _print(self, text: str, elapsed_s: float | None) -> None:
        clock = "" if elapsed_s is None else f"[{int(elapsed_s) // 60:02d}:{int(elapsed_s) % 60:02d}] "
        self._console.print(clock + text, soft_wrap=True)


def describe(event: Event, history: History) -> str:
    """What an event says in one line; empty if it says nothing new to a reader.

    Args:
        event: The event.
        history: The run's history, with the event.
    """
    speak = _SPEAKERS.get(event.kind)
    return speak(event.data, history) if speak else ""


def _run_started(data: dict[str, Any], history: History) -> str:
    shown, config = view(history, {}), history.config
    assert config is not None
    plan = f"up to {count(config.generations, 'generation')} of {count(config.candidates, 'candidate')}"
    return f"run {shown.run_id}: {shown.task}, {shown.model}, {plan}"


def _run_resumed(data: dict[str, Any], history: History) -> str:
    return f"resumed run {history.run_id}"


def _designed(data: dict[str, Any], history: History) -> str:
    candidate = data["candidate"]
    if candidate["failure"]:
        return f"{candidate['id']} {candidate['operator']}: {candidate['failure']}"
    if candidate["repairs"]:
        return f"{candidate['id']} repaired"
    origin = f" of {', '.join(candidate['parents'])}" if candidate["parents"] else ""
    return f"{candidate['id']} {candidate['operator']}{origin}: {first_sentence(candidate['diagnosis'])}".rstrip(": ")


def _reviewed(data: dict[str, Any], history: History) -> str:
    verdict = history.reviewed[data["verdict"]["candidate_id"], data["repairs"]]
    return "" if verdict.accepted else f"{verdict.candidate_id} rejected: {rejection(verdict)}"


def _trained(data: dict[str, Any], history: History) -> str:
    id, phase = data["slice"]["candidate_id"], data["phase"]
    rows = search_rows(history, [id], {}) if phase == "search" else final_rows(history, {})
    row = next(row for row in rows if row.id == id)
    return _result(row) if row.status in ("trained", "failed") else ""


def _result(row: Row) -> str:
    if row.status == "failed":
        return f"{row.id} failed: {row.reason}"
    fitness, success = with_spread(row.fitness, row.spread), percent(row.success_rate)
    stopped = f" ({row.reason})" if row.stopped else ""
    return f"{row.id} trained: fitness {fitness}, success {success}{stopped}"


def _ranked(data: dict[str, Any], history: History) -> str:
    best = history.ranking.best
    return f"{best.candidate_id} is the best so far" if best else ""


def _finals_started(data: dict[str, Any], history: History) -> str:
    return f"{stage(history)}: {', '.join(history.finalists)} ({data['reason']})"


def _training_line(shown: View) -> str:
    running = [row for row in shown.rows if row.status == "training"]
    share = sum(row.progress for row in running) / max(1, len(running))
    best = max((row for row in running if row.fitness is not None), key=lambda row: row.fitness or 0.0, default=None)
    lead = f", {best.id} leads with fitness {number(best.fitness)}" if best else ""
    left = f", {roughly(shown.remaining_s)} left" if shown.remaining_s is not None else ""
    return f"training {percent(share)}{lead}{left}"


_SPEAKERS = {
    "run-started": _run_started,
    "run-resumed": _run_resumed,
    "generation-started": lambda data, history: stage(history),
    "designed": _designed,
    "reviewed": _reviewed,
    "trained": _trained,
    "ranked": _ranked,
    "generation-finished": lambda data, history: past_line(history, history.generations[data["generation"]]),
    "finals-started": _finals_started,
}
