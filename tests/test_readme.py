"""The README's promises that can be tried."""

import re
from pathlib import Path

from rewardgen.cli.app import COMMANDS, main

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text()


def test_the_example_task_has_no_problems(tmp_path, monkeypatch, capfd):
    (source,) = [block for block in re.findall(r"```python\n(.*?)```", TEXT, re.S) if "class Balance" in block]
    (tmp_path / "balance.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    assert main(["tasks", "check", "balance.py"]) == 0, capfd.readouterr()
    assert "no problems" in capfd.readouterr().out


def test_the_commands_that_are_shown_exist():
    known = {command.words for command in COMMANDS}
    shown = re.findall(r"^rewardgen ((?:runs |tasks |robots )?\w+)", TEXT, re.M)
    assert shown
    assert set(shown) <= known


def test_the_clean_clone_script_ends_with_the_test_command_of_the_readme():
    install, test = re.search(r"## Development\n```\n(.+)\n(.+)\n```", TEXT).groups()  # type: ignore[union-attr]
    script = (ROOT / ".ci" / "run").read_text().rstrip()
    assert install.removeprefix("pip install") in script
    assert script.endswith(f"\n{test}")


def test_the_readme_is_short_and_starts_with_a_picture():
    lines = TEXT.splitlines()
    assert len(lines) <= 200
    (picture,) = [line for line in lines[:10] if line.startswith("![")]
    assert (ROOT / re.search(r"\((.+)\)", picture).group(1)).is_file()  # type: ignore[union-attr]
