"""Makes the README's picture from a recorded run: `python docs/picture.py RUN`.

It draws what the terminal showed: the live screen in the middle of the last generation's training, and the closing
table. Nothing in the picture is typed by hand.
"""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

from rewardgen.store.events import Event, read_events
from rewardgen.store.history import History
from rewardgen.store.progress import Live, LiveProgress
from rewardgen.store.records import SliceResult
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR, RunFolder, find_run
from rewardgen.ui.screen import render
from rewardgen.ui.tables import closing_table
from rewardgen.view.progress import view

WIDTH = 104
PICTURE = Path(__file__).parent / "run.svg"


def main(reference: str) -> None:
    """Draw a run.

    Args:
        reference: What `rewardgen runs show` takes.
    """
    folder = find_run(reference, DEFAULT_RUNS_DIR)
    events = read_events(folder.events)
    whole = History(events)
    if whole.summary is None:
        raise SystemExit("the run is not finished")
    console = Console(width=WIDTH, record=True, file=io.StringIO(), force_terminal=True, highlight=False, markup=False)
    console.print(Text.assemble(("$ ", "dim"), (_command(folder), "bold")))
    console.print()
    console.print(render(view(*_half_trained(events)), 0.0))
    console.print(Text("...", "dim"))
    console.print()
    console.print(closing_table(whole.summary))
    console.save_svg(str(PICTURE), title="rewardgen")


def _command(folder: RunFolder) -> str:
    """The command that started the run, without where its files lie."""
    return re.sub(r" --runs-dir[ =]\S+", "", json.loads(folder.provenance.read_text())["command"])


def _half_trained(events: list[Event]) -> tuple[History, Live]:
    """The history in the middle of the last generation's training, with the evaluations of what still trained then."""
    start = max(number for number, event in enumerate(events) if event.kind == "generation-started")
    search = [n for n, e in enumerate(events) if n > start and e.kind == "trained" and e.data["phase"] == "search"]
    now, *later = search[len(search) // 2 :]
    live = LiveProgress()
    for number in later:
        result = SliceResult.model_validate(events[number].data["slice"])
        for point in result.curve[: len(result.curve) // 2 + 1]:
            told = {"phase": "search", "candidate_id": result.candidate_id, "seed": result.seed}
            live.progress(told | point.model_dump())
    return History(events[: now + 1]), live.messages


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "latest")
