"""A run as plain lines, for a log file, a pipe or a terminal that cannot redraw."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from rich.console import Console

from rewardgen.core.formatting import count, first_sentence, number, percent, roughly, with_spread
from rewardgen.store.events import Event
from rewardgen.store.history import History
from rewardgen.view.progress_view import Watcher, near, past_line, stage, view
from rewardgen.view.rows import final_rows, rejection, search_rows

_PULSE_S = 30.0
"""Least time between two lines on the progress of a training [s]."""


class Plain(Watcher):
    """Prints a line for every step of a run. It is a `Listener`.

    Args:
        console: Where to print.
    """

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console
        self._pulse = self._at

    def note(self, text: str) -> None:
        """Print a line."""
        self._console.print(text, soft_wrap=True)

    def _on_event(self, event: Event) -> None:
        """Print what an event says, if it says something new to a reader."""
        if text := describe(event, self._history):
            self.note(f"[{int(event.elapsed_s) // 60:02d}:{int(event.elapsed_s) % 60:02d}] {text}")

    def _on_progress(self) -> None:
        """Now and then, print how far the training is."""
        if time.monotonic() - self._pulse < _PULSE_S:
            return
        self._pulse = time.monotonic()
        shown = self._view()
        running = [row for row in shown.rows if row.status == "training"]
        share = sum(row.progress for row in running) / max(1, len(running))
        known = [row for row in running if row.fitness is not None]
        best = max(known, key=lambda row: row.fitness or 0.0, default=None)
        lead = f", {best.id} leads with fitness {number(best.fitness)}" if best else ""
        what = "of training" if shown.mailbox else "left"
        left = f", {roughly(shown.remaining_s)} {what}" if shown.remaining_s is not None else ""
        self.note(f"training {percent(share)}{lead}{left}")


def describe(event: Event, history: History) -> str:
    """What an event says in one line; empty if it says nothing new to a reader.

    Args:
        event: The event.
        history: The run's history, with the event.
    """
    data = event.data
    match event.kind:
        case "run-started":
            shown, config = view(history, {}), history.config
            assert config is not None
            plan = f"up to {count(config.generations, 'generation')} of {count(config.candidates, 'candidate')}"
            plan += f", then {config.tune} more by the tuner" if config.tune else ""
            return f"run {shown.run_id}: {shown.task}, {shown.model}, {plan}"
        case "run-resumed":
            new = len(data.get("changes", ())) + ("task" in data) + ("generations" in data)
            return "; ".join([f"resumed run {history.run_id}", *history.changes[len(history.changes) - new :]])
        case "goal-checked":
            return history.goal_check.text if history.goal_check else ""
        case "judged":
            return history.judgement.text if history.judgement else ""
        case "generation-started":
            mailbox = view(history, {}).mailbox
            return f"{stage(history)}{f': requests wait for replies in {near(mailbox)}/' if mailbox else ''}"
        case "designed":
            candidate = data["candidate"]
            if candidate["failure"]:
                return f"{candidate['id']} {candidate['operator']}: {candidate['failure']}"
            if candidate["repairs"]:
                return f"{candidate['id']} was written anew, and is tried again"
            origin = f" of {', '.join(candidate['parents'])}" if candidate["parents"] else ""
            idea = first_sentence(candidate["diagnosis"])
            return f"{candidate['id']} {candidate['operator']}{origin}: {idea}".rstrip(": ")
        case "reviewed":
            verdict = history.reviewed[data["verdict"]["candidate_id"], data["repairs"]]
            return "" if verdict.accepted else f"{verdict.candidate_id} rejected: {rejection(verdict)}"
        case "trained" if data["phase"] == "confirm":
            return ""
        case "trained":
            id = data["slice"]["candidate_id"]
            rows = search_rows(history, [id], {}) if data["phase"] == "search" else final_rows(history, {})
            row = next(row for row in rows if row.id == id)
            if row.status == "failed":
                return f"{id} failed: {row.reason}"
            fitness, success = with_spread(row.fitness, row.spread), percent(row.success_rate)
            stopped = f" ({row.reason})" if row.stopped else ""
            return f"{id} trained: fitness {fitness}, success {success}{stopped}" if row.status == "trained" else ""
        case "ranked":
            best = history.ranking.best
            return f"{best.candidate_id} is the best so far" if best else ""
        case "seeds-opened":
            return _opened(data["phase"], data["seeds"])
        case "steps-doubted":
            return data["why"]
        case "steps-raised":
            return history.changes[-1]
        case "generation-finished":
            return past_line(history, history.generations[data["generation"]])
        case "finals-started":
            return f"{stage(history)}: {', '.join(history.finalists)} ({data['reason']})"
        case _:
            return ""


def _opened(phase: str, seeds: Mapping[str, Sequence[int]]) -> str:
    if phase == "search":
        return f"a further seed for the leaders {', '.join(seeds)}: which is the best is not settled"
    if phase == "confirm":
        return f"more steps for {' and '.join(seeds)}: does what was found last?"
    fresh = count(max(map(len, seeds.values())), "fresh seed")
    return f"{fresh} for {', '.join(seeds)}"
