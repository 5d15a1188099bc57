"""A person's words on what they have seen of a run, for the designers of its next generations."""

from __future__ import annotations

from collections.abc import Sequence

from rewardgen.core.errors import RunFolderError, UsageError
from rewardgen.core.formatting import shortened
from rewardgen.core.text import visible
from rewardgen.store.events import EventLog
from rewardgen.store.history import History
from rewardgen.store.journal import Journal, SilentListener
from rewardgen.store.run_folder import RunFolder

MOST_CHARS = 1_000
"""Of one remark."""
MOST_TOLD = 4_000
"""Characters of all remarks that a designer is told; the newest come first."""


def as_told(remarks: Sequence[str]) -> list[str]:
    """A person's remarks without what nobody sees.

    Args:
        remarks: In the order in which they are to be read.

    Raises:
        UsageError: There is none, or one is empty or too long.
    """
    said = [visible(each).strip() for each in remarks]
    if not said or not all(said):
        raise UsageError("there are no words to tell", 'write them after the run: `rewardgen feedback latest "slower"`')
    if longest := max(0, max(map(len, said)) - MOST_CHARS):
        raise UsageError(f"a remark is {longest} characters too long", f"say it in {MOST_CHARS}, or in several remarks")
    return said


def give_feedback(folder: RunFolder, remarks: Sequence[str]) -> History:
    """Record a person's remarks on a run; what is known of it then.

    Args:
        folder: The run's.
        remarks: See `as_told`.

    Raises:
        RunFolderError: The run is damaged, has not begun, or is being worked on.
    """
    with folder.locked():
        history = History.load(folder)
        if history.config is None:
            raise RunFolderError(f"run {folder.id} has not begun", f"start it anew and delete {folder.path}")
        journal = Journal(EventLog(folder.events), history, SilentListener())
        for text in remarks:
            journal.record("feedback", text=text)
    return history


def feedback_for(history: History, generation: int) -> tuple[str, ...]:
    """What the designers of a generation are told, newest last: as much of it as there is room for.

    Args:
        history: The run.
        generation: Index of the generation; what was said after it had begun is for the next.
    """
    told, room = [], MOST_TOLD
    for each in reversed(history.feedback):
        if each.generation > generation:
            continue
        text = shortened(each.text, MOST_CHARS)  # whoever wrote the log
        room -= len(text)
        if room < 0:
            break
        told.append(text)
    return tuple(reversed(told))
