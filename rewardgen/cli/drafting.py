"""From words to a task file that somebody has confirmed: what `new` and `run` share."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from rewardgen.core.asynchrony import blocking
from rewardgen.core.config import BUILTIN, RunConfig
from rewardgen.core.errors import TaskError, UsageError
from rewardgen.core.files import write_atomic
from rewardgen.core.formatting import tokens
from rewardgen.core.schema import Frozen
from rewardgen.llm.factory import make_llm
from rewardgen.llm.prompts import using_prompts
from rewardgen.search.run_prompts import own_prompts_of
from rewardgen.store.messages import Usage
from rewardgen.store.run_folder import RunFolder
from rewardgen.tasks.drafting import Drafted, Wanted, draft_task, task_file
from rewardgen.tasks.robots import catalogue_of
from rewardgen.tasks.sketching import NothingDrafted
from rewardgen.ui.console import messages
from rewardgen.ui.metric_page import draft_page
from rewardgen.view.progress_view import near

ROBOT = (
    "An MJCF or URDF file, a MuJoCo Menagerie folder, a shipped task's name, `gymnasium:hopper.xml`, "
    "or a name of `robot_descriptions`."
)
DRAFT_SUFFIX = ".draft"
"""Of the folder beside a task file that keeps how it came about."""
_NOBODY = "Nobody has read it: it was accepted by `--yes`."
_READ = "A person has read and confirmed it."


class Calls(Frozen):
    """The calls of a language model outside a run."""

    api_base: str | None = None
    """Address of an OpenAI-compatible server."""
    max_cost: float | None = Field(default=None, ge=0)
    """Limit on the price of the calls [USD]."""
    max_tokens: int | None = Field(default=None, ge=0)
    """Limit on the tokens of the calls."""
    temperature: float = Field(default=1.0, ge=0, le=2)
    """Sampling temperature."""
    call_timeout_s: float = Field(default=180.0, gt=0)
    """Time limit of one call [s]; a mailbox waits 20 times as long."""
    prompts: str | None = None
    """Folder with prompt templates of your own: see `rewardgen prompts`."""

    def config(self, model: str) -> RunConfig:
        """As a configuration.

        Args:
            model: The model string.
        """
        return RunConfig(task="", model=model, **self.model_dump())


class Accepted(NamedTuple):
    """A drafted task that may be used.

    Attributes:
        file: Its task file.
        drafted: How it came about.
        usage: What the drafting took.
    """

    file: Path
    drafted: Drafted
    usage: Usage


def task_name(robot: str, words: str) -> str:
    """What the task file is called, if nobody says otherwise: the robot and the beginning of the words.

    Args:
        robot: What the person calls the robot.
        words: What they want.
    """
    stem = Path(robot.rpartition(":")[2]).stem
    named = re.sub(r"\W+", "_", f"{stem} {words}".lower()).strip("_")
    return f"{named[:60].rstrip('_') or 'task'}.py"


def draft_folder(task: Path) -> Path:
    """Where it is kept how a task came about.

    Args:
        task: Its file.
    """
    return task.with_suffix(DRAFT_SUFFIX)


def draft(words: str, robot: str, file: Path, config: RunConfig, *, yes: bool, objection: str = "") -> Accepted:
    """Draft a task, try its metric, show it, and ask.

    Args:
        words: What is wanted.
        robot: The robot.
        file: The task file to write.
        config: Names the model, and its limits.
        yes: Whether a task whose metric holds is taken without anybody having read it.
        objection: What speaks against the task that `file` already is: it is drafted once more, into a file beside it.

    Raises:
        UsageError: There is no model, the file exists, or nobody has confirmed the task.
        TaskError: Its metric does not hold.
    """
    if config.model == BUILTIN:
        raise UsageError(
            "a task is drafted by a language model, and none is named",
            f"add `--model`, as in `--model openai/gpt-5.1`; or `rewardgen new --robot {robot}` writes a file in which"
            " the metric is yours to write",
        )
    if file.suffix != ".py":
        raise UsageError(f"{file} is no name for a task file", "end it with `.py`")
    before = draft_folder(file)
    if objection:
        file = file.with_stem(f"{file.stem}_2")
    if file.exists():
        raise UsageError(f"{file} exists", f"`rewardgen run {file}` searches for a reward for it, or delete it")
    folder, console = RunFolder(draft_folder(file)), messages()
    if objection and not folder.path.exists():  # the calls of the first draft are not made again
        shutil.copytree(before, folder.path)
    llm = make_llm(config, folder)
    wanted = Wanted(words, robot, catalogue_of(robot), folder.path)
    person = _Person(yes, objection)
    scheme, _, place = config.model.partition(":")
    if scheme == "mailbox":
        console.print(f"requests wait for replies in {near(Path(place))}/", soft_wrap=True)
    with using_prompts(own_prompts_of(config)):
        try:
            drafted, form = draft_task(llm, wanted, lambda text: console.print(text, soft_wrap=True), person.ask)
        except NothingDrafted as error:
            kept = _put_aside(folder.path)  # or the same replies would be read again
            raise NothingDrafted(error.message, f"see {kept}; try again, or another `--model`") from error
        except KeyboardInterrupt:
            console.print(f"interrupted; replies are kept in {folder.path}: the same command goes on", soft_wrap=True)
            raise
    usage = llm.usage()
    console.print(f"{usage.calls} calls, {tokens(usage.tokens)} tokens; kept in {folder.path}", soft_wrap=True)
    write_atomic(folder.path / "draft.json", drafted.model_dump_json(indent=1))
    if person.declined:
        raise UsageError("nothing was written", f"the draft is in {folder.path}; the same command shows it again")
    if not person.confirmed and not drafted.trial.verdict.passed:
        raise TaskError(
            "the metric of the drafted task does not hold on the sketches",
            f"see {drafted.task}; mend it by hand and copy it to {file}, or say it in other words",
        )
    if not person.confirmed and not yes:
        raise UsageError(
            "nobody has confirmed the drafted task",
            f"read {drafted.task}, then run the same command with `--yes`, which asks for nothing again; or edit it and"
            f" copy it to {file}",
        )
    write_atomic(file, task_file(form, wanted, file, _READ if person.confirmed else _NOBODY))
    return Accepted(file, drafted, usage)


def _put_aside(folder: Path) -> Path:
    """Give a draft that came to nothing another name."""
    number = 1
    while (aside := folder.with_name(f"{folder.name}-failed-{number}")).exists():
        number += 1
    folder.rename(aside)
    return aside


def after_drafting(config: RunConfig, made: Accepted) -> RunConfig:
    """The configuration of a run on a drafted task: with its file, the person's words, and what is left of the limits.

    Args:
        config: That of the drafting.
        made: The task.
    """
    goal = config.goal or made.drafted.words
    return less(config, made.usage).model_copy(update={"task": str(made.file), "goal": goal})


def less(config: RunConfig, usage: Usage) -> RunConfig:
    """A configuration with what calls have left of its limits.

    Args:
        config: The configuration.
        usage: What the calls took.
    """
    cost, tokens_left = config.max_cost, config.max_tokens
    return config.model_copy(
        update={
            "max_cost": None if cost is None else max(0.0, cost - (usage.cost_usd or 0.0)),
            "max_tokens": None if tokens_left is None else max(0, tokens_left - usage.tokens),
        }
    )


class _Person:
    """Whoever is at the terminal, if somebody is.

    Args:
        yes: Whether nobody is to be asked.
        objection: What is to be said to the first draft in any case.

    Attributes:
        confirmed: Whether they want the task.
        declined: Whether they were asked, and do not.
    """

    def __init__(self, yes: bool, objection: str) -> None:
        self.confirmed = self.declined = False
        self._yes, self._objection = yes, objection

    def ask(self, drafted: Drafted) -> str:
        """Show a draft; what they want changed, or nothing."""
        if self._objection:
            said, self._objection = self._objection, ""
            return said
        console = messages()
        console.print(draft_page(drafted, formatted=console.is_terminal))
        if self._yes or not (sys.stdin.isatty() and console.is_terminal):
            return ""
        held = "" if drafted.trial.verdict.passed else " although its metric does not hold"
        try:
            with blocking():
                answer = console.input(f"\nuse this task{held}? [y/N, or what to change] ", markup=False).strip()
        except EOFError:
            answer = ""
        self.confirmed, self.declined = answer.lower() in ("y", "yes"), answer.lower() in ("", "n", "no")
        return "" if self.confirmed or self.declined else answer
