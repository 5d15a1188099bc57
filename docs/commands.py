"""Writes the reference of all commands from the commands themselves: `python -m docs.commands`."""

from __future__ import annotations

import re
from pathlib import Path

from rewardgen.cli.app import make_app

PAGE = Path(__file__).parent / "commands.md"


def reference() -> str:
    """The page."""
    told = make_app().generate_docs(output_format="markdown")
    body = told[told.index("## rewardgen run") :]
    body = re.sub(r"\n {2,}(?=\S)", " ", body).replace(' *[default: ""]*', "")
    head = "# All commands\n\nAs `rewardgen COMMAND --help` tells them; written by `python -m docs.commands`.\n\n"
    return f"{head}{body.rstrip()}\n"


if __name__ == "__main__":
    PAGE.write_text(reference())
