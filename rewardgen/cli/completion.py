"""`rewardgen completion`, and what a shell that has its script asks at every Tab: names of tasks, runs and prompts.

That answer comes from names of files and packages alone, and nothing heavy is imported: it takes no longer than a key.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from rewardgen.core.resources import shipped, shipped_task_files
from rewardgen.core.text import visible
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR, EVENTS

ASKED = "__complete"
"""First word with which a shell's script asks; after it come those of the command line, the last one unfinished."""
_MOST = 200
_PROMPT = ".md.j2"


def task_names(context: Any = None, word: str = "", before: Sequence[str] = ()) -> list[str]:
    """Shipped tasks, those of installed packages, and Python files and folders that begin like the word.

    Args:
        context: What cyclopts knows; nothing of it is needed.
        word: What has been typed of it.
        before: The words before it.
    """
    names = [path.stem for path in shipped_task_files()]
    place, _, start = word.rpartition("/")
    if not place:
        from rewardgen.tasks.registered import registered_tasks  # not at the top: not every Tab is for a task

        names += [each.name for each in registered_tasks(names) if not each.problem]
    found = []
    with suppress(OSError), os.scandir(Path(f"{place}/" if place or word.startswith("/") else ".")) as entries:
        for entry in islice(entries, 10 * _MOST):
            if entry.name.startswith(start) and (start or not entry.name.startswith(".")):
                path = f"{word[: len(word) - len(start)]}{entry.name}"
                found += [path] if entry.name.endswith(".py") else [f"{path}/"] if place and entry.is_dir() else []
    return [*([] if place else names), *sorted(found)]


def run_names(context: Any = None, word: str = "", before: Sequence[str] = ()) -> list[str]:
    """`latest` and the runs, newest first; after a run, its candidates."""
    folder = DEFAULT_RUNS_DIR
    for option, value in pairwise(before):
        folder = Path(value) if option == "--runs-dir" else folder
    with suppress(OSError):
        runs = [each for each in sorted(os.listdir(folder), reverse=True) if (folder / each / EVENTS).is_file()]
        named = [folder / each for each in runs if before and (before[-1] in (each, "latest"))]
        if named:
            return sorted(os.listdir(named[0] / "candidates"))
        return ["latest", *runs] if runs else []
    return []


def task_and_run_names(context: Any = None, word: str = "", before: Sequence[str] = ()) -> list[str]:
    """Both."""
    return [*run_names(context, word, before), *task_names(context, word, before)]


def prompt_names(context: Any = None, word: str = "", before: Sequence[str] = ()) -> list[str]:
    """The shipped prompts."""
    root = shipped("prompts")
    paths = sorted(root.rglob(f"*{_PROMPT}"))
    return [path.relative_to(root).as_posix().removesuffix(_PROMPT) for path in paths]


def answer(words: Sequence[str], completers: dict[str, Callable[..., list[str]]]) -> str:
    """What a shell's script is told, in the form that cyclopts's scripts read.

    Args:
        words: Those of the command line after the program's name, the last one unfinished.
        completers: Command to what completes its arguments.
    """
    *before, word = words or [""]
    plain = [each for each in before if not each.startswith("-")]
    names: list[str] = []
    for length in (2, 1):
        completer = completers.get(" ".join(plain[:length]))
        if completer is not None:
            names = completer(None, word, before)
            break
    told = [visible(each).replace("\t", " ").replace("\n", " ") for each in names[:_MOST]]
    return "\n".join(["", "\x1fbegin", *told])
