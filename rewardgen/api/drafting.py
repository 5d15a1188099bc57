"""`rewardgen.draft`: from a sentence and a robot to a task file whose metric was tested on sketched episodes."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple

from rewardgen.core.asynchrony import run_coroutine
from rewardgen.core.config import BUILTIN, RunConfig, checked_config
from rewardgen.core.errors import TaskError, UsageError
from rewardgen.core.files import write_atomic
from rewardgen.core.formatting import tokens
from rewardgen.llm.factory import make_llm
from rewardgen.llm.prompts import using_prompts
from rewardgen.llm.protocol import Note, silent
from rewardgen.search.assembly import own_prompts_of
from rewardgen.store.messages import Usage
from rewardgen.store.run_folder import RunFolder
from rewardgen.tasks.draft.drafting import (
    Confirm,
    DraftedTask,
    DraftRequest,
    NothingDrafted,
    ask_authors,
    draft_task,
    look_at,
    task_file,
    try_metric,
)
from rewardgen.tasks.draft.sketches import MetricTest
from rewardgen.tasks.robots import catalogue_of

DRAFT_SUFFIX = ".draft"
"""Suffix of the folder beside a task file that keeps its drafts, sketches and calls."""
CORRECTIONS = "corrections.json"
"""File in that folder: the words of a task, and a person's corrections of its drafts, in order."""


class TaskDraft(NamedTuple):
    """An accepted draft: the task file, its evidence, and what the drafting cost."""

    file: Path
    drafted: DraftedTask
    usage: Usage

    def run_config(self, config: RunConfig) -> RunConfig:
        """Return the configuration of a run on the task, with the words as its goal and the remaining limits."""
        cost, most_tokens = config.max_cost, config.max_tokens
        return config.model_copy(
            update={
                "task": str(self.file),
                "goal": config.goal or self.drafted.words,
                "max_cost": None if cost is None else round(max(0.0, cost - (self.usage.cost_usd or 0.0)), 6),
                "max_tokens": None if most_tokens is None else max(0, most_tokens - self.usage.tokens),
            }
        )


def accept_sound(drafted: DraftedTask) -> bool:
    """Accept a draft whose metric passes, or that has none, unread; raise if it does not pass."""
    if not drafted.holds:
        hint = f"see {drafted.task}; fix and copy it, or say it in other words"
        raise TaskError("the metric of the drafted task does not hold on the sketches", hint)
    return True


def draft(
    words: str,
    robot: str,
    model: str,
    *,
    file: str | Path | None = None,
    confirm: Confirm | None = None,
    **options: Any,
) -> TaskDraft:
    """Draft a task file for a robot. A call that was answered is kept, and not made again.

    Args:
        words: What the robot should do.
        robot: A model file, or a name: see `rewardgen robots list`.
        model: A LiteLLM model string, `mailbox:DIR`, or `replay:RUN`.
        file: The file to write; named after the robot and the words by default.
        confirm: Decides about the draft; by default one whose metric passes is accepted unread.
        **options: Fields of `rewardgen.core.config.RunConfig` for the calls, such as `max_cost` and `api_base`. With a
            `judge` that needs no fitness, such as `human`, the task has none.

    Raises:
        TaskError: The metric does not pass, or the robot is unknown.
        UsageError: The file exists, or the draft was declined.
        NothingDrafted: The model wrote no usable task or sketch.
    """
    path = Path(file) if file else Path(task_name(robot, words))
    config = checked_config({"task": str(path), "model": model, **options}, None)
    return draft_file(words, robot, path, config, confirm or accept_sound, unread=confirm is None)


def draft_file(
    words: str,
    robot: str,
    file: Path,
    config: RunConfig,
    confirm: Confirm,
    *,
    unread: bool,
    note: Note = silent,
) -> TaskDraft:
    """Draft a task with the model and the limits of a configuration; see `draft`. The file says if it is `unread`."""
    _require_new(file, robot, words, config)
    folder = RunFolder(file.with_suffix(DRAFT_SUFFIX))
    llm = make_llm(config, folder, note)
    request = DraftRequest(words, robot, catalogue_of(robot), folder.path, config.needs_fitness)

    place = folder.path / CORRECTIONS
    kept = json.loads(place.read_text()) if place.exists() else {}
    said: list[str] = kept["corrections"] if kept.get("words") == words else []
    earlier = iter((*said,))

    def decide(drafted: DraftedTask) -> bool | str:
        if correction := next(earlier, ""):
            note(f"as you said before: {correction}")
            return correction
        write_atomic(folder.path / "draft.json", drafted.model_dump_json(indent=1))
        answer = confirm(drafted)
        if isinstance(answer, str):
            said.append(answer)
            write_atomic(place, json.dumps({"words": words, "corrections": said}, ensure_ascii=False, indent=1))
        return answer

    with using_prompts(own_prompts_of(config)):
        try:
            drafted, form, accepted = draft_task(llm, request, note, decide)
        except NothingDrafted as error:
            hint = f"see {folder.path}; delete it to ask again, perhaps another `--model`"
            raise NothingDrafted(error.message, hint) from error
    usage = llm.usage()
    note(f"{usage.calls} calls, {tokens(usage.tokens)} tokens; kept in {folder.path}")
    if not accepted:
        raise UsageError("nothing was written", f"the draft is in {folder.path}; the same command shows it again")
    read = "Accepted by `--yes`: a person may not have read it." if unread else "A person has read and confirmed it."
    write_atomic(file, task_file(form, request._replace(words=drafted.words), file, read))
    return TaskDraft(file, drafted, usage)


def _require_new(file: Path, robot: str, words: str, config: RunConfig) -> None:
    if config.model == BUILTIN:
        own = f"`rewardgen new --robot {robot}` writes a file in which the metric is yours to write"
        hint = f"add `--model`, as in `--model openai/gpt-5.1`; or {own}"
        raise UsageError("a task is drafted by a language model, and none is named", hint)
    if file.suffix != ".py":
        raise UsageError(f"{file} is no name for a task file", "end it with `.py`")
    if file.exists():
        run = f"rewardgen {run_words(file, words, config)}"
        raise UsageError(f"{file} exists", f"`{run}` searches for a reward for it, or delete it")


def run_words(file: Path, words: str, config: RunConfig) -> str:
    """Return the command for a run on a drafted task, with the model that drafted it."""
    served = ["--api-base", config.api_base] if config.api_base else []
    return shlex.join(["run", str(file), "--model", config.model, *served, "--goal", words])


def sketch_test(task: str, folder: Path, config: RunConfig, goal: str = "", note: Note = silent) -> MetricTest:
    """Test the metric of any task on sketches of its goal, or of its description, by authors who do not see it."""
    look = look_at(task)
    if look.card is None:
        raise TaskError(*look.problems[0])
    if not look.card.has_fitness:
        raise TaskError("the task has no metric to test", "leave out `--model`")
    words, scene = (goal, look.card.description) if goal else (look.card.description, "")
    llm = make_llm(config, RunFolder(folder), note)
    note("asking for sketches of episodes, from authors that do not see the metric")
    with using_prompts(own_prompts_of(config)):
        authors = run_coroutine(ask_authors(llm, look, words, scene, "task/check"))
    note(f"{llm.usage().calls} calls, {tokens(llm.usage().tokens)} tokens; kept in {folder}")
    return try_metric(task, look, words, authors)


def task_name(robot: str, words: str) -> str:
    """Return the default name of a task file: the robot and the beginning of the words."""
    stem = Path(robot.rpartition(":")[2]).stem
    name = re.sub(r"\W+", "_", f"{stem} {words}".lower()).strip("_")
    return f"{name[:60].rstrip('_') or 'task'}.py"
