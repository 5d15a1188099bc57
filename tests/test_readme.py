"""The README shows commands that exist, and stays short."""

import re
from pathlib import Path

from rewardgen.cli.app import COMMANDS

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text()


def test_the_commands_that_are_shown_exist():
    blocks = "".join(TEXT.split("```")[1::2])
    shown = re.findall(r"rewardgen ((?:runs |tasks |robots )?[a-z]+) ", blocks)
    assert len(shown) > 5
    assert set(shown) <= {command.words for command in COMMANDS}


def test_the_clean_clone_script_ends_with_the_test_command_of_the_readme():
    command = re.search(r"## Development\n```\n(.+)\n```", TEXT).group(1)  # type: ignore[union-attr]
    assert (ROOT / ".ci" / "run").read_text().rstrip().endswith(f"\n{command}")


def test_the_readme_is_short_and_starts_with_a_picture():
    lines = TEXT.splitlines()
    assert len(lines) <= 130 and max(map(len, lines)) <= 120 and len(TEXT.split()) <= 900
    (picture,) = [line for line in lines[:10] if line.startswith("![")]
    assert (ROOT / re.search(r"\((.+)\)", picture).group(1)).is_file()  # type: ignore[union-attr]
