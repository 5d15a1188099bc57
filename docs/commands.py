"""Write docs/commands.md from the commands and the configuration: `python -m docs.commands`."""

from __future__ import annotations

from pathlib import Path

from rewardgen.cli.app import COMMANDS
from rewardgen.cli.run import GROUPS
from rewardgen.core.config import RunConfig

PAGE = Path(__file__).parent / "commands.md"
_HEAD = """# All commands

`rewardgen COMMAND --help` lists the options of a command. Every command but `play` and `mcp` takes `--json`: data on
stdout, messages on stderr. `--debug` shows the traceback of an unexpected error; `rewardgen --install-completion`
completes commands in the shell. Exit codes: 0 done, 1 failed or nothing passed, 2 usage, 3 a person must agree
(`--yes`), 4 credentials, 130 interrupted.

This page is written by `python -m docs.commands`.
"""
_FIELDS = """## The configuration of a run

`run` takes every field as an option, with `-` for `_`; `run --help` shows those in groups. `--config FILE` reads them
from TOML, such as the `run.toml` in the folder of a run; options win over the file. `rewardgen.run` takes these names.
"""


def reference() -> str:
    """Return the page."""
    commands = [f"| `{command.words}` | {command.summary} | `rewardgen {command.example}` |" for command in COMMANDS]
    places = {name: group for group, names in GROUPS.items() for name in names}
    groups = {group: [name for name in RunConfig.model_fields if places.get(name) == group] for group in GROUPS}
    groups["Not shown by --help"] = [name for name in RunConfig.model_fields if name not in {"task", *places}]
    page = [_HEAD, "| command | purpose | example |\n| --- | --- | --- |\n" + "\n".join(commands) + "\n", _FIELDS]
    for group, names in groups.items():
        rows = "\n".join(_row(name) for name in names)
        page.append(f"### {group}\n\n| field | default | meaning |\n| --- | --- | --- |\n{rows}\n")
    return "\n".join(page)


def _row(name: str) -> str:
    field = RunConfig.model_fields[name]
    default = "" if field.default in (None, "", ()) else f"`{str(field.default).lower()}`"
    return f"| `{name}` | {default} | {' '.join((field.description or '').split())} |"


if __name__ == "__main__":
    PAGE.write_text(reference())
