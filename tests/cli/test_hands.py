"""A configuration from a file, and prompts of one's own."""

import json

import pytest

from tests.tasks.files import POINT


def test_a_run_takes_its_configuration_from_a_file_and_options_win_over_it(rewardgen, tmp_path):
    (tmp_path / "run.toml").write_text(
        f'task = "{POINT}"\ngenerations = 5\ncandidates = 2\ntune = 0\nenv_steps = 4096\n'
    )
    done = rewardgen("run", "--config", "run.toml", "--candidates", 3, "--dry-run", "--yes", "--json")
    told = json.loads(done.stdout)
    assert done.returncode == 0 and told["candidates"] == 15 and told["minutes"]["high"] > 0.0, told


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ("task = 'hopper'\ncandidtes = 3", "unknown key `candidtes`", "did you mean `candidates`?"),
        ("task = 'hopper'\ncandidates = 0", "`candidates` of run.toml: input should be greater", "run.toml"),
        ("task = ", "run.toml is not TOML", "example"),
        ("candidates = 3", "no TASK is named", "rewardgen run hopper"),
        (None, "cannot read run.toml", "example"),
    ],
)
def test_a_file_that_configures_no_run_is_told_with_what_is_wrong(rewardgen, tmp_path, text, what, hint):
    if text is not None:
        (tmp_path / "run.toml").write_text(text)
    done = rewardgen("run", "--config", "run.toml")
    assert done.returncode == 2 and what in done.stderr and hint in done.stderr


def test_prompts_are_listed_shown_and_copied_to_be_edited(rewardgen, tmp_path):
    assert "designer/draft" in rewardgen("prompts").stdout
    assert "`designer/draft`" in rewardgen("prompts", "designer/drafts").stderr
    assert rewardgen("prompts", "designer/system", "--eject", "mine").returncode == 0
    file = tmp_path / "mine" / "designer" / "system.md.j2"
    assert file.read_text().strip() == rewardgen("prompts", "designer/system").stdout.strip()
    file.write_text("{# version 7: mine #}\nHello.")
    rows = json.loads(rewardgen("prompts", "--prompts", "mine", "--json").stdout)["prompts"]
    assert [row["about"] for row in rows if row["path"].startswith("mine")] == ["mine"]
    again = rewardgen("prompts", "designer/system", "--eject", "mine")
    assert again.returncode == 2 and "exists" in again.stderr and file.read_text().endswith("Hello.")
