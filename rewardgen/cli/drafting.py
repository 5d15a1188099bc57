"""Drafting on the command line: `new` and `run --robot` show a draft and ask about it."""

from __future__ import annotations

import sys
from pathlib import Path

from pydantic import Field

from rewardgen.api.drafting import TaskDraft, accept_sound, draft_file
from rewardgen.core.asynchrony import blocking
from rewardgen.core.config import RunConfig
from rewardgen.core.errors import UsageError
from rewardgen.core.schema import Frozen
from rewardgen.tasks.draft.drafting import DraftedTask
from rewardgen.ui.console import messages
from rewardgen.ui.show import draft_page

ROBOT = (
    "An MJCF or URDF file, a MuJoCo Menagerie folder, a shipped task's name, `gymnasium:hopper.xml`, "
    "or a name of `robot_descriptions`."
)


class Calls(Frozen):
    """Options of the calls of a language model outside a run."""

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

    def config(self, model: str, task: str) -> RunConfig:
        """Return the configuration for a model and a task file."""
        return RunConfig(task=task, model=model, **self.model_dump())


def draft(words: str, robot: str, file: Path, config: RunConfig, *, yes: bool) -> TaskDraft:
    """Draft a task, show it, and ask whether to use it.

    Args:
        words: What the robot should do.
        robot: The robot.
        file: The task file to write.
        config: Names the model and its limits.
        yes: True to accept a draft whose metric passes without asking.

    Raises:
        UsageError: No model is named, the file exists, or nobody confirmed the draft.
        TaskError: The metric does not pass.
    """
    console = messages()

    def confirm(drafted: DraftedTask) -> bool | str:
        return confirmed(drafted, yes)

    def note(text: str) -> None:
        console.print(text, soft_wrap=True)

    if config.model.startswith("mailbox:"):
        note(f"requests wait for replies in {config.model.removeprefix('mailbox:')}/")
    try:
        return draft_file(words, robot, file, config, confirm, unread=yes, note=note)
    except KeyboardInterrupt:
        note("interrupted; finished replies are kept: the same command goes on")
        raise


def confirmed(drafted: DraftedTask, yes: bool) -> bool | str:
    """Show a draft and return the person's decision, or their request for changes.

    Raises:
        TaskError: Nobody is asked, and the metric does not pass.
        UsageError: There is nobody to ask.
    """
    console = messages()
    console.print(draft_page(drafted, formatted=console.is_terminal))
    if yes:
        return accept_sound(drafted)
    if not (sys.stdin.isatty() and console.is_terminal):
        accept_sound(drafted)
        hint = f"read {drafted.task}, then run the same command with `--yes`, which makes no call again"
        raise UsageError("nobody has confirmed the drafted task", hint)
    warning = "" if drafted.trial.verdict.passed else " although its metric does not hold"
    try:
        with blocking():
            answer = console.input(f"\nuse this task{warning}? [y/N, or what to change] ", markup=False).strip()
    except EOFError:
        answer = ""
    if answer.lower() in ("y", "yes"):
        return True
    return False if answer.lower() in ("", "n", "no") else answer
