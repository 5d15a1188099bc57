"""The table of commands. Only the called command is imported."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from typing import NamedTuple

from cyclopts import App, CycloptsError

from rewardgen import __version__
from rewardgen.cli import failures
from rewardgen.ui.console import results

DEBUG = "--debug"
"""Accepted anywhere on the command line: show the traceback of an unexpected error."""

_EPILOGUE = f"Commands take `--help`, `--json` (data on stdout, messages on stderr; not `play`, `mcp`) and `{DEBUG}`."


class Command(NamedTuple):
    """One command: its words, its `module:function` in this package, its summary and an example."""

    words: str
    function: str
    summary: str
    example: str


COMMANDS = (
    Command("run", "run:run", "Search for a reward for a task.", "run hopper --model openai/gpt-5.1 --max-cost 2"),
    Command("resume", "run:resume", "Continue an interrupted or a finished run.", "resume latest"),
    Command("feedback", "runs:feedback", "Tell the designer what you think.", 'feedback latest "less hopping"'),
    Command("suite", "suite:suite", "Compare strategies and designers over many tasks.", "suite suite.toml"),
    Command("check", "rewards:check", "Check reward files without training.", "check hopper my_reward.py"),
    Command("train", "rewards:train", "Train a reward with several seeds.", "train latest --seeds 10"),
    Command("eval", "rewards:eval_", "Measure trained policies on fresh episodes.", "eval latest --episodes 200"),
    Command("export", "export:write", "Write a reward, policy or environment.", "export latest my_policy --as sb3"),
    Command("report", "pages:report", "Write a run's report as one HTML file.", "report latest --open"),
    Command("film", "film:film", "Film the policies of a run.", "film latest"),
    Command("play", "film:play", "Show a policy in MuJoCo's viewer or the browser.", "play latest:g01-k2"),
    Command("serve", "pages:serve", "Show runs in the browser while they go on.", "serve latest --open"),
    Command("runs list", "runs:list_all", "List all runs.", "runs list"),
    Command("runs show", "runs:show", "Show a run or one of its candidates.", "runs show latest g01-k2"),
    Command("runs watch", "watching:runs_watch", "Watch a run that another process works on.", "runs watch latest"),
    Command("runs compare", "runs:compare", "Compare runs or candidates.", "runs compare A:g01-k2 B:human"),
    Command("tasks list", "tasks:list_all", "List the shipped tasks and those of installed packages.", "tasks list"),
    Command("tasks show", "tasks:show", "Show a task as the designer sees it.", "tasks show hopper"),
    Command("tasks check", "tasks:check", "Check a task file.", "tasks check my_task.py"),
    Command("tasks expert", "tasks:expert", "Train an expert policy for the critic.", "tasks expert my_task.py"),
    Command("robots list", "robots:list_all", "List the available robots.", "robots list"),
    Command("robots show", "robots:show", "Show what can be read off a robot's model.", "robots show my_robot.xml"),
    Command("new", "robots:new", "Write a task file for a robot.", 'new "stand up" --robot robot.xml'),
    Command("mcp", "agents:mcp", "Serve rewardgen to a coding agent.", "mcp --folder my_project"),
    Command("prompts", "prompts:prompts", "List, show or copy the prompts.", "prompts designer/draft"),
    Command("doctor", "doctor:doctor", "Check this machine and its sandbox.", "doctor --model openai/gpt-5.1"),
)
_NOUNS = {
    "runs": "List, read, watch and compare runs.",
    "robots": "List robots and read their models.",
    "tasks": "List, read and check tasks.",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns:
        Exit code: 0 done, 1 failed or nothing passed, 2 usage or configuration, 3 a person must agree, 4 credentials,
            130 interrupted.
    """
    for stream in (sys.stdout, sys.stderr):
        # A character that the terminal cannot show must end nothing.
        if isinstance(stream, io.TextIOWrapper) and stream.errors in ("strict", "surrogateescape"):
            stream.reconfigure(errors="replace")
    words = list(sys.argv[1:] if arguments is None else arguments)
    tokens = [word for word in words if word != DEBUG]
    app = make_app()
    try:
        return app(tokens, exit_on_error=False, print_error=False) or 0
    except CycloptsError as error:
        command = " ".join(["rewardgen", *app.parse_commands(tokens)[0]])
        return failures.report(failures.explain_usage(error, command))
    except (Exception, KeyboardInterrupt) as error:
        if len(tokens) != len(words):
            raise
        return failures.report(error)


def make_app() -> App:
    """Build the app with all commands, none of them imported yet."""
    app = App(
        name="rewardgen",
        help="Design, train and verify reward functions for reinforcement learning from a task in plain words.",
        help_epilogue=_EPILOGUE,
        help_format="markdown",
        version=__version__,
        console=results(),
        result_action="return_value",
    )
    app.register_install_completion_command()
    nouns: dict[str, App] = {}
    for order, command in enumerate(COMMANDS):
        noun, _, verb = command.words.rpartition(" ")
        if noun and noun not in nouns:
            nouns[noun] = App(name=noun, help=_NOUNS[noun], sort_key=order)
            app.command(nouns[noun])
        nouns.get(noun, app).command(
            f"rewardgen.cli.{command.function}",  # imported when the command is called
            name=verb,
            help=f"{command.summary}\n\nExample: `rewardgen {command.example}`",
            sort_key=order,
            help_epilogue="",
        )
    return app
