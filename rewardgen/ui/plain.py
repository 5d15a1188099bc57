"""A run as plain lines, for a log file, a pipe or a terminal that cannot redraw."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from rich.console import Console

from rewardgen.analyzer.predictions import prediction_fault
from rewardgen.core.formatting import count, first_sentence, number, percent
from rewardgen.core.text import visible
from rewardgen.store.comparisons import Comparison
from rewardgen.store.events import Event
from rewardgen.store.history import History
from rewardgen.view.progress import Watcher, past_line, stage, view
from rewardgen.view.rows import final_rows, rejection, search_rows

_PULSE_S = 30.0
"""Least time between two lines on the progress of a training [s]."""


class Plain(Watcher):
    """Prints a line for every step of a run."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console
        self._pulse = self._at

    def note(self, text: str) -> None:
        """Print a line."""
        self._console.print(text, soft_wrap=True)

    def _on_event(self, event: Event) -> None:
        if text := describe(event, self._history):
            minutes, seconds = divmod(int(event.elapsed_s), 60)
            self.note(f"[{minutes:02d}:{seconds:02d}] {text}")

    def _on_progress(self) -> None:
        if time.monotonic() - self._pulse < _PULSE_S:
            return
        self._pulse = time.monotonic()
        now = self._view()
        running = [row for row in now.rows if row.status == "training"]
        measured = [row for row in running if row.measure == "fitness" and row.merit is not None]
        best = max(measured, key=lambda row: row.merit or 0.0, default=None)
        lead = f", {best.id} leads with fitness {number(best.merit)}" if best else ""
        left = f", {now.left()}" if now.left() else ""
        self.note(f"training, {percent(now.done)} of the run{lead}{left}")


def describe(event: Event, history: History) -> str:
    """The latest event of a history in one line; empty if it is not news for a reader."""
    data = event.data
    match event.kind:
        case "run-started":
            start, config = view(history, {}), history.config
            plan = f"up to {count(config.generations, 'generation')} of {count(config.candidates, 'candidate')}"
            return f"run {start.run_id}: {start.task}, {start.model}, {plan}"
        case "run-resumed":
            new = len(data.get("changes", ())) + ("task" in data) + ("generations" in data)
            return "; ".join([f"resumed run {history.run_id}", *history.changes[len(history.changes) - new :]])
        case "goal-checked":
            return history.goal_check.text if history.goal_check else ""
        case "settings-chosen":
            return history.changes[-1]
        case "judged":
            return history.judgement.text if history.judgement else ""
        case "generation-started":
            return stage(history)
        case "designed":
            return _designed(data["candidate"])
        case "reviewed":
            verdict = history.reviewed[data["verdict"]["candidate_id"], data["repairs"]]
            return "" if verdict.accepted else f"{verdict.candidate_id} rejected: {rejection(verdict)}"
        case "trained":
            return _trained(data["phase"], data["slice"]["candidate_id"], history)
        case "ranked":
            best = history.ranking.best
            told = history.comparisons or not history.by_answers
            return f"{best.candidate_id} is the best so far" if best and told else ""
        case "compared":
            return _compared(history.comparisons[-1])
        case "seeds-opened":
            return _opened(data["phase"], data["seeds"])
        case "steps-doubted":
            return data["why"]
        case "generation-finished":
            return past_line(history, history.generations[data["generation"]])
        case "finals-started":
            return f"{stage(history)}: {', '.join(history.finalists)} ({data['reason']})"
        case _:
            return ""


def _designed(candidate: Mapping[str, object]) -> str:
    id, parents = candidate["id"], candidate["parents"]
    if candidate["failure"]:
        return f"{id} {candidate['operator']}: {candidate['failure']}"
    if candidate["repairs"]:
        return f"{id}: repaired, checking again"
    origin = f" of {', '.join(parents)}" if isinstance(parents, list) and parents else ""
    line = f"{id} {candidate['operator']}{origin}: {first_sentence(str(candidate['diagnosis']))}".rstrip(": ")
    fault = prediction_fault(str(candidate["prediction"]))
    return f"{line}\n{id}: prediction {fault}" if fault else line


def _trained(phase: str, id: str, history: History) -> str:
    rows = search_rows(history, [id], {}) if phase == "search" else final_rows(history, {})
    row = next(row for row in rows if row.id == id)
    if row.status == "failed":
        return f"{id} failed: {row.reason}"
    fitness = f": fitness {row.merit_text}" if row.measure == "fitness" and row.merit is not None else ""
    success = "" if row.success_rate is None else f", success {percent(row.success_rate)}"
    stopped = f" ({row.reason})" if row.stopped else ""
    return f"{id} trained{fitness}{success}{stopped}" if row.status == "trained" else ""


def _compared(answer: Comparison) -> str:
    left, right = answer.ids
    words = {"left": f"{left} beats {right}", "right": f"{right} beats {left}", "same": f"{left} and {right} are alike"}
    why = f": {visible(' '.join(answer.why.split()))}" if answer.why else ""
    return f"answer {answer.number + 1}, {words.get(answer.answer, f'{left} or {right}: cannot tell')}{why}"


def _opened(phase: str, seeds: Mapping[str, Sequence[int]]) -> str:
    if phase == "search":
        return f"one more seed for {', '.join(seeds)}: the leaders are within noise"
    return f"{count(max(map(len, seeds.values())), 'fresh seed')} for {', '.join(seeds)}"
