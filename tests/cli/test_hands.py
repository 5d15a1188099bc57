"""What spares typing: completion in a shell, a configuration from a file, prompts of one's own."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from rewardgen.cli.app import COMMANDS, make_app
from rewardgen.cli.completion import ASKED
from tests.tasks.files import POINT, point
from tests.ui.story import RUN_ID


def completed(rewardgen, *words):
    """What a shell's script is told."""
    told = rewardgen(ASKED, *words).stdout
    return told.partition("\x1fbegin\n")[2].splitlines()


def test_tasks_runs_candidates_and_prompts_are_completed(rewardgen, finished_run, tmp_path):
    point(tmp_path)
    (finished_run / "candidates" / "g00-k0").mkdir(parents=True)
    assert {"hopper", "cartpole", "point.py"} <= {*completed(rewardgen, "run", "po")}
    assert completed(rewardgen, "tasks", "check", f"{tmp_path}/po") == [f"{tmp_path}/point.py"]
    assert completed(rewardgen, "resume", "") == ["latest", RUN_ID]
    assert completed(rewardgen, "runs", "show", "--json", RUN_ID, "g") == ["g00-k0"]
    assert "designer/draft" in completed(rewardgen, "prompts", "show", "des")
    assert completed(rewardgen, "doctor", "") == completed(rewardgen) == []
    assert completed(rewardgen, "resume", "--runs-dir", tmp_path / "nowhere", "") == []


def test_completion_is_fast_and_imports_no_command():
    ask = f"import sys\nfrom rewardgen.cli.app import main\nmain([{ASKED!r}, 'run', 'h'])\nprint(*sys.modules)"
    before = os.times().children_user
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    spent = os.times().children_user - before
    loaded = {*done.stdout.splitlines()[-1].split()}
    assert loaded.isdisjoint({"torch", "mujoco", "pydantic", "numpy", "jinja2", "rewardgen.cli.run"})
    assert spent < 0.6, "0.15 s of processor time on an idle machine"


def test_every_command_that_completes_names_tells_so_in_both_places():
    app = make_app()
    for command in COMMANDS:
        found = app
        for word in command.words.split():
            found = found[word]
        completers = {each.parameter.completer for each in found.assemble_argument_collection()} - {None}
        assert completers == ({command.names} if command.names else set()), command.words


def test_the_script_for_bash_completes_a_task(rewardgen, tmp_path):
    script = rewardgen("completion", "bash").stdout
    (tmp_path / "script").write_text(script)
    program = tmp_path / "rewardgen"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m rewardgen "$@"\n')
    program.chmod(0o755)
    asked = "source ./script; COMP_WORDS=(./rewardgen run half); COMP_CWORD=2; _rewardgen; echo ${COMPREPLY[@]}"
    done = subprocess.run([shutil.which("bash"), "-c", asked], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["half_cheetah"]


def test_a_run_takes_its_configuration_from_a_file_and_options_win_over_it(rewardgen, tmp_path):
    (tmp_path / "run.toml").write_text(f'task = "{POINT}"\ngenerations = 5\ncandidates = 2\nenv_steps = 4096\n')
    done = rewardgen("run", "--config", "run.toml", "--candidates", 3, "--dry-run", "--json")
    told = json.loads(done.stdout)
    assert done.returncode == 0 and told["candidates"] == 15, told


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


def test_prompts_are_listed_shown_and_copied_to_be_changed(rewardgen, tmp_path):
    assert "designer/draft" in rewardgen("prompts", "list").stdout
    assert "`designer/draft`" in rewardgen("prompts", "show", "designer/drafts").stderr
    assert rewardgen("prompts", "eject", "mine", "designer/system").returncode == 0
    file = tmp_path / "mine" / "designer" / "system.md.j2"
    shown = rewardgen("prompts", "show", "designer/system").stdout
    assert file.read_text().strip() == shown.strip()
    file.write_text("{# version 7: mine #}\nHello.")
    told = json.loads(rewardgen("prompts", "list", "--prompts", "mine", "--json").stdout)["prompts"]
    assert [each["about"] for each in told if each["path"].startswith("mine")] == ["mine"]
    again = rewardgen("prompts", "eject", "mine", "designer/system")
    assert again.returncode == 2 and "exists" in again.stderr and file.read_text().endswith("Hello.")


def test_a_run_with_a_broken_prompt_does_not_begin(rewardgen, tmp_path):
    (tmp_path / "mine" / "designer").mkdir(parents=True)
    (tmp_path / "mine" / "designer" / "draft.md.j2").write_text("{{ gaol }}")
    done = rewardgen("run", POINT, "--prompts", "mine")
    assert done.returncode == 2 and "uses `gaol`" in done.stderr and "`goal`" in done.stderr
    assert not list((tmp_path / "runs").iterdir())
