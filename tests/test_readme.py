"""The README's promises that can be tried."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text()


def test_the_example_task_has_no_problems(tmp_path):
    (source,) = [block for block in re.findall(r"```python\n(.*?)```", TEXT, re.S) if "class Balance" in block]
    (tmp_path / "balance.py").write_text(source)
    command = [sys.executable, "-m", "rewardgen", "tasks", "check", "balance.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert "no problems" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0


def test_the_commands_that_are_shown_exist():
    from rewardgen.cli.app import COMMANDS

    known = {command.words for command in COMMANDS}
    shown = re.findall(r"^rewardgen ((?:runs |tasks )?\w+)", TEXT, re.M)
    assert shown
    assert set(shown) <= known


def test_the_clean_clone_script_runs_the_test_commands_of_the_readme_and_the_attack_matrix():
    install, test = re.search(r"## Development\n```\n(.+)\n(.+)\n```", TEXT).groups()  # type: ignore[union-attr]
    script = (ROOT / ".ci" / "run").read_text().rstrip()
    assert install.removeprefix("pip install") in script
    assert script.endswith(f"\n{test}\n{test} -m matrix")


def test_the_readme_is_short_and_starts_with_a_picture():
    lines = TEXT.splitlines()
    assert len(lines) <= 200
    (picture,) = [line for line in lines[:10] if line.startswith("![")]
    assert (ROOT / re.search(r"\((.+)\)", picture).group(1)).is_file()  # type: ignore[union-attr]
