"""The commands: their names, help and where they live. Nothing but the one that is called is imported."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

from cyclopts import App, CycloptsError

from rewardgen import __version__
from rewardgen.cli import failures
from rewardgen.cli.completion import ASKED, answer, prompt_names, run_names, task_and_run_names, task_names
from rewardgen.ui.console import results

DEBUG = "--debug"
"""Accepted anywhere on the command line: show the traceback of an unexpected error."""

_EPILOGUE = f"Any command takes `--help`, `--json` (data on stdout, messages on stderr) and `{DEBUG}`."


class Command(NamedTuple):
    """One command as the user types it, and what its help says."""

    words: str
    function: str
    """`module:function` in this package."""
    summary: str
    example: str
    names: Callable[..., list[str]] | None = None
    """What a shell completes its arguments with."""


COMMANDS = (
    Command(
        "run",
        "run:run",
        "Search for a reward for a task.",
        "run hopper --model openai/gpt-5.1 --max-cost 2",
        task_names,
    ),
    Command(
        "resume", "run:resume", "Go on with a run that was interrupted or is finished.", "resume latest", run_names
    ),
    Command(
        "suite",
        "suite:suite",
        "Set strategies and designers side by side, or the own rewards of tasks.",
        "suite suite.toml",
        task_names,
    ),
    Command(
        "feedback",
        "feedback:feedback",
        "Tell the designer of the next generations what you think of the results.",
        'feedback latest "less hopping, lower torso"',
        run_names,
    ),
    Command("train", "train:train", "Train a reward with some seeds.", "train latest --seeds 10", task_and_run_names),
    Command(
        "eval", "evaluate:eval_", "Measure stored policies in fresh episodes.", "eval latest --episodes 200", run_names
    ),
    Command(
        "export",
        "export:write",
        "Write a reward, its policy or its environment for other programs.",
        "export latest my_policy --as sb3",
        run_names,
    ),
    Command("runs list", "runs:list_all", "List all runs.", "runs list"),
    Command("runs show", "runs:show", "Show a run, or one of its candidates.", "runs show latest g01-k2", run_names),
    Command(
        "runs watch", "watching:watch", "Watch a run that another process works on.", "runs watch latest", run_names
    ),
    Command(
        "runs compare",
        "compare:compare",
        "Set runs, or candidates, side by side.",
        "runs compare latest:g01-k2 latest:g00-k0 --rewards",
        run_names,
    ),
    Command(
        "runs rescore",
        "evaluate:rescore",
        "Rank a run's candidates by another task's fitness.",
        "runs rescore latest --task new_task.py",
        run_names,
    ),
    Command("report", "report:report", "Write a run's report: one HTML file.", "report latest --open", run_names),
    Command("film", "film:film", "Film what a reward led to.", "film latest", run_names),
    Command("play", "film:play", "Show what a reward led to in MuJoCo's viewer.", "play latest:g01-k2", run_names),
    Command("serve", "serve:serve", "Show runs in the browser as they go on.", "serve latest --open", run_names),
    Command("runs path", "runs:path", "Print where a run's files are.", "runs path latest", run_names),
    Command("tasks list", "tasks:list_all", "List the shipped tasks, and those of installed packages.", "tasks list"),
    Command("tasks show", "tasks:show", "Show a task as the designer sees it.", "tasks show hopper", task_names),
    Command("tasks check", "tasks:check", "Check a task file.", "tasks check my_task.py", task_names),
    Command(
        "tasks expert",
        "tasks:expert",
        "Train a policy whose episodes the critic tries rewards on.",
        "tasks expert my_task.py",
        task_names,
    ),
    Command(
        "tasks baselines",
        "baselines:baselines",
        "Train a task's own rewards, and tell whether they solve it.",
        "tasks baselines my_task.py --env-steps 200000",
        task_names,
    ),
    Command("robots list", "robots:list_all", "List the robots that are here.", "robots list"),
    Command("robots show", "robots:show", "Show what can be read off a robot's model.", "robots show my_robot.xml"),
    Command(
        "new", "robots:new", "Write a task file for a robot.", 'new "stand up" --robot robot.xml --model openai/gpt-5.1'
    ),
    Command(
        "check", "check:check", "Put reward files through the critic's gates.", "check hopper my_reward.py", task_names
    ),
    Command("prompts list", "prompts:list_all", "List the prompts that models are given.", "prompts list"),
    Command("prompts show", "prompts:show", "Show a prompt.", "prompts show designer/draft", prompt_names),
    Command(
        "prompts eject",
        "prompts:eject",
        "Copy prompts, to change them for `run --prompts`.",
        "prompts eject my_prompts designer/system",
        prompt_names,
    ),
    Command(
        "completion",
        "complete:completion",
        "Print, or put in place, what completes names in a shell.",
        "completion bash --install",
    ),
    Command("doctor", "doctor:doctor", "Say what works on this machine.", "doctor --model openai/gpt-5.1"),
)
_NOUNS = {
    "runs": "List, read and compare runs.",
    "prompts": "List, read and copy what models are told.",
    "robots": "List robots, and what can be read off their models.",
    "tasks": "List, read, check and equip tasks.",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: Command line without the program's name; `sys.argv` if not given.

    Returns:
        Exit code: 0 done, 1 ran but nothing passed, 2 usage or configuration, 4 credentials, 130 interrupted.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == [ASKED]:
        print(answer(given[1:], {each.words: each.names for each in COMMANDS if each.names}))
        return 0
    tokens = [each for each in given if each != DEBUG]
    app = make_app()
    try:
        return app(tokens, exit_on_error=False, print_error=False) or 0
    except CycloptsError as error:
        return failures.report(failures.explain_usage(error, _command_words(app, tokens)))
    except (Exception, KeyboardInterrupt) as error:
        if len(tokens) != len(given):
            raise
        return failures.report(error)


def make_app() -> App:
    """All commands, none of which is imported yet."""
    app = App(
        name="rewardgen",
        help="Design, train and verify reward functions for reinforcement learning from a task in plain words.",
        help_epilogue=_EPILOGUE,
        help_format="markdown",
        version=__version__,
        console=results(),
        result_action="return_value",
    )
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


def _command_words(app: App, tokens: Sequence[str]) -> str:
    """The command that was meant, as the user would type it."""
    return " ".join(["rewardgen", *app.parse_commands(list(tokens))[0]])
