"""What is shown gives the terminal no commands, and a reader that goes away ends nothing."""

import io
import subprocess
import sys

import pytest
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from rewardgen.core.errors import RewardgenError
from rewardgen.ui.console import SafeConsole
from tests.cli.conftest import environment, write_run

HOSTILE = "a\x1b]52;c;ZXZpbA==\x07b\x1b[2J\x9b31mc\u202e\U000e0041d"


def shown(renderable, **options):
    console = SafeConsole(file=io.StringIO(), markup=False, width=60, **options)
    console.print(renderable)
    return console.file.getvalue()


@pytest.mark.parametrize("kind", ["text", "string", "table", "code"])
def test_commands_in_text_do_not_reach_the_terminal(kind):
    table = Table.grid()
    table.add_row(Text(HOSTILE))
    made = {"text": Text(HOSTILE), "string": HOSTILE, "table": table, "code": Syntax(HOSTILE, "python")}
    said = shown(made[kind])
    assert said.startswith("a") and said.strip().endswith("cd")
    assert {each for each in said if not each.isprintable()} == {"\n"}


def test_colours_of_our_own_do():
    assert "\x1b[31mred\x1b[0m" in shown(Text("red", "red"), force_terminal=True, color_system="standard")


def test_errors_and_json_are_visible_too(capsys):
    from rewardgen.cli.failures import report
    from rewardgen.cli.output import print_json

    report(RewardgenError(HOSTILE, HOSTILE))
    print_json({"text": HOSTILE})
    said = capsys.readouterr()
    assert said.err == "error: abcd\n\nhint: abcd\n"
    assert "\x9b" not in said.out and "\u202e" not in said.out


ASK = """
import sys
from rewardgen.ui.console import messages, results
for number in range(400):  # more than a pipe holds
    messages().print("a line of messages " * 5, number)
    results().print("a line of results " * 5, number)
    results().print_data("data" * 25)
open("done", "w").close()
"""


@pytest.mark.parametrize("redirect", ["2>&1 | head -n 3; exit ${PIPESTATUS[0]}", ">&- 2>&-", "2>/dev/full"])
def test_a_console_that_nobody_reads_ends_nothing(tmp_path, redirect):
    command = f"{sys.executable} -c '{ASK}' {redirect}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert (tmp_path / "done").exists() and done.returncode == 0, done.stderr
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize(("redirect", "code"), [(">/dev/full", 2), ("| true; exit ${PIPESTATUS[0]}", 0)])
def test_results_on_a_full_disk_are_an_error_and_without_a_reader_none(tmp_path, redirect, code):
    write_run(tmp_path / "runs")
    command = f"{sys.executable} -m rewardgen runs show latest {redirect}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert done.returncode == code
    assert ("error: cannot write the output: No space left" in done.stderr) == (code == 2)
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr
