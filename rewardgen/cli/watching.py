"""Show a run until its end, then print the result; and `rewardgen runs watch`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from rewardgen.api.runs import display
from rewardgen.cli.failures import INTERRUPTED
from rewardgen.cli.output import Json, Reference, RunsDir, next_steps, print_json
from rewardgen.core.config import BUILTIN
from rewardgen.core.errors import CredentialsError, ModelError, NeedsConsent, RewardgenError, RunFolderError, UsageError
from rewardgen.llm.replay import differing
from rewardgen.report.closing import close_run
from rewardgen.report.run_files import RunFiles
from rewardgen.search.lifecycle import Confirm, EndedRun, agreed
from rewardgen.store.events import Event
from rewardgen.store.history import History
from rewardgen.store.progress import follow
from rewardgen.store.run_folder import DEFAULT_RUNS_DIR, RunFolder, find_run
from rewardgen.ui.console import messages, results
from rewardgen.ui.tables import closing_table, judgement_text


def confirm(question: str, otherwise: str) -> None:
    """Ask a question on a terminal; without a terminal only `--yes` agrees.

    Raises:
        NeedsConsent: Nobody can be asked; `otherwise` is the hint.
        UsageError: The user did not agree.
    """
    console = messages()
    if not (sys.stdin.isatty() and console.is_terminal):
        raise NeedsConsent(question, f"add `--yes` to agree, or {otherwise}")
    try:
        answer = console.input(f"{question}\ngo on? [y/N] ", markup=False)
    except EOFError:
        answer = ""
    if answer.strip().lower() not in ("y", "yes"):
        raise UsageError("nothing was started", f"{otherwise}, or answer `y`")


class Memory(RunFiles):
    """Remembers the run's id besides, for the lines after an interruption."""

    run_id = ""

    def confirm(self, yes: bool) -> Confirm:
        """Return a function that asks beside the display, or accepts everything if the user agreed already."""

        def ask(question: str, otherwise: str) -> None:
            with self.aside():
                confirm(question, otherwise)

        return agreed if yes else ask

    def event(self, event: Event, history: History) -> None:
        """See `Listener.event`."""
        self.run_id = history.run_id
        super().event(event, history)


def watch(work: Callable[[Memory], EndedRun], runs_dir: Path, command: str = "") -> EndedRun | None:
    """Show a run while `work` goes on; return None if the user interrupted the run.

    `command` continues the work, if not `resume`.
    """
    console = messages()
    memory: Memory | None = None
    try:
        with display() as screen:
            memory = Memory(screen, runs_dir)
            return work(memory)
    except KeyboardInterrupt:
        if not (memory and memory.run_id):
            console.print("interrupted before the run began; nothing was kept")
            return None
        folder = RunFolder(runs_dir / memory.run_id)
        console.print(f"interrupted; all finished work is saved in {folder.path}", soft_wrap=True)
        next_steps((command or f"resume {folder.word}", "continues from here"))
        return None
    except RewardgenError as error:
        if memory and memory.run_id:
            resume = command or f"resume {RunFolder(runs_dir / memory.run_id).word}"
            refused = isinstance(error, ModelError | CredentialsError) and not command
            other = ", also with another `--model`" if refused else ""
            console.print(f"stopped; `rewardgen {resume}` continues once this is fixed{other}\n", soft_wrap=True)
        raise


def ended(outcome: EndedRun | None, json: bool, *, agreed: bool = False) -> int:
    """Make films and report, print the result and the next commands, and return the exit code.

    `outcome` is None for an interrupted run; see `close_run` for `agreed`.
    """
    if outcome is None:
        return INTERRUPTED
    folder, history, summary = outcome.folder, outcome.history, outcome.history.summary
    reward = folder.best / "reward.py" if summary and summary.chosen else None
    close = partial(close_run, folder, history, partial(messages().print, soft_wrap=True), agreed=agreed)
    if json:
        print_json(_data(outcome, reward, close()))
        return outcome.exit_code
    steps = [(f"runs show {folder.word}", "every candidate, and why some failed")]
    if summary:
        results().print()
        if history.judgement:
            results().print(judgement_text(history.judgement))
            results().print()
        results().print(closing_table(summary))
    if summary and reward:
        steps.append((f"runs show {folder.word} {summary.chosen}", "the chosen reward and its origin"))
        messages().print(f"\nreward: {reward}", soft_wrap=True)
    elif summary:
        messages().print(f"\nhint: {_hint(history, folder)}", soft_wrap=True)
    if report := close():
        messages().print(f"report: {report}", soft_wrap=True)
    if others := differing(folder.calls):
        messages().print(f"replay: {others} requests differ from the recorded ones; llm/ shows which", soft_wrap=True)
    if history.config.model != BUILTIN:
        steps.append((f'feedback {folder.word} "your words"', "for the designer of further generations"))
    next_steps(*steps)
    return outcome.exit_code


def _data(outcome: EndedRun, reward: Path | None, report: Path | None) -> dict[str, Any]:
    history = outcome.history
    records = {"goal_check": history.goal_check, "judgement": history.judgement, "summary": history.summary}
    return {
        "run_id": outcome.folder.id,
        "path": str(outcome.folder.path),
        "exit_code": outcome.exit_code,
        "reward": str(reward) if reward else None,
        "report": str(report) if report else None,
        **{name: record.model_dump(mode="json") if record else None for name, record in records.items()},
        "usage": history.usage.model_dump(mode="json"),
        "elapsed_s": history.elapsed_s,
    }


def _hint(history: History, folder: RunFolder) -> str:
    """Return the fix for a run without a reward."""
    if history.task_fault:
        return "fix the task: it fails with any reward"
    if history.designed and not any(designed.source for designed in history.designed.values()):
        again = f"`resume {folder.word} --generations 1` with another `--model`"
        return f"no reply held a reward, `runs show` has the reasons: raise the limits, fix the server, or {again}"
    if history.summary and history.summary.reason.startswith("time limit"):
        again = f"`resume {folder.word} --generations 1 --max-minutes N`"
        return f"there was no time to train one, so raise the limit: {again}"
    return "rewards can read only the task's variables: see `tasks show`, and declare more of them in the task"


def runs_watch(ref: Reference = "latest", /, *, runs_dir: RunsDir = DEFAULT_RUNS_DIR, json: Json = False) -> int:
    """Watch a run that another process works on."""
    folder = find_run(ref, runs_dir)
    try:
        history = _followed(folder) if folder.is_locked() else History.load(folder)
    except KeyboardInterrupt:
        messages().print("stopped watching; the run goes on", soft_wrap=True)
        return INTERRUPTED
    if history.summary is not None:
        return ended(EndedRun(folder, history), json)
    if history.status == "failed":
        raise RunFolderError(f"run {folder.id} failed: {history.error}", history.hint)
    messages().print(f"run {folder.id} was interrupted; no process works on it", soft_wrap=True)
    next_steps((f"resume {folder.word}", "continues the run"))
    return 1


def _followed(folder: RunFolder) -> History:
    messages().print(f"watching run {folder.id}; Ctrl-C leaves it running", soft_wrap=True)
    with display() as screen:
        return follow(folder, screen)
