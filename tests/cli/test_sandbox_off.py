"""`--sandbox off` and runs from elsewhere: asked about on a terminal, refused without one unless `--yes` is given."""

import os
import pty
import select
import sys

import pytest

from rewardgen.cli.app import main
from tests.cli.conftest import environment, write_run
from tests.sandbox.confined import landlock_abi
from tests.tasks.files import point
from tests.ui.story import events

OFF = ("run", "no_such_task", "--sandbox", "off")
"""Goes no further than finding out that there is no such task."""


def test_without_a_terminal_it_is_refused_with_the_option_that_confirms_it(rewardgen, tmp_path):
    done = rewardgen(*OFF)
    assert (done.returncode, done.stdout) == (3, "")
    assert "only the reward language keeps generated code from your files" in done.stderr
    assert "hint: add `--yes`" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_with_yes_nobody_is_asked(rewardgen):
    assert "unknown task `no_such_task`" in rewardgen(*OFF, "--yes").stderr


def test_a_sandbox_that_is_not_off_needs_no_word(rewardgen):
    assert "unknown task `no_such_task`" in rewardgen("run", "no_such_task", "--sandbox", "strict").stderr


@pytest.mark.parametrize(
    ("answer", "said"),
    [("y\n", "unknown task `no_such_task`"), ("\n", "nothing was started"), ("n\n", "nothing was started")],
)
def test_on_a_terminal_it_is_asked_about(tmp_path, answer, said):
    returncode, shown = on_a_terminal(tmp_path, answer)
    assert "go on? [y/N]" in shown and said in shown
    assert returncode == 2 and "Traceback" not in shown


@pytest.mark.parametrize(("answer", "said"), [("y\n", "the task hopper has changed"), ("n\n", "nothing was started")])
def test_a_run_that_was_not_started_here_is_asked_about_in_the_same_way(tmp_path, answer, said):
    began, *more = events()[:9]
    began = began.model_copy(update={"data": began.data | {"task_files": {"/gone": "0" * 64}}})
    folder = write_run(tmp_path / "runs", [began, *more])
    returncode, shown = on_a_terminal(tmp_path, answer, ("resume", folder.name))
    assert "was not started here by you" in shown and "model openai/gpt-5.1" in shown and "go on? [y/N]" in shown
    assert said in shown and returncode == 2 and "Traceback" not in shown


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("run", "no_such_task", "--config"), 'api_base = "http://192.0.2.1/v1"\ninit = "gone.py"'),
        (("suite",), 'tasks = ["there.py"]\nseeds = [0]'),
    ],
)
def test_a_file_that_names_code_or_an_address_is_asked_about_once(rewardgen, tmp_path, words, text):
    file = tmp_path / "x.toml"
    (tmp_path / "there.py").touch()
    (tmp_path / "x").touch()  # where the suite's runs would lie: none can begin
    file.write_text(text)
    command = (*words, "x.toml")
    unasked = rewardgen(*command)
    assert unasked.returncode == 3 and "x.toml decides:" in unasked.stderr and "add `--yes`" in unasked.stderr
    assert ("api base http://192.0.2.1/v1: receives the key" in unasked.stderr) == (words[0] == "run")
    assert "nothing was started" in on_a_terminal(tmp_path, "n\n", command)[1]
    _, agreed = on_a_terminal(tmp_path, "y\n", command)
    assert "x.toml decides:" in agreed and "nothing was started" not in agreed
    assert "x.toml decides:" not in rewardgen(*command).stderr
    file.write_text(f"{text}\n# changed")
    assert "x.toml decides:" in rewardgen(*command).stderr


@pytest.mark.parametrize(
    "text", ['model = "agent:./theirs.sh"', 'model = "replay:gone,agent:x"', 'judge = "reader:agent:x"']
)
def test_a_file_that_names_an_agents_command_is_asked_about(rewardgen, tmp_path, text):
    (tmp_path / "x.toml").write_text(f'task = "cartpole"\n{text}')
    asked = rewardgen("run", "--config", "x.toml").stderr
    assert "agent:" in asked and "runs as your own command" in asked


def test_a_file_that_allows_a_price_is_asked_about(rewardgen, tmp_path):
    (tmp_path / "x.toml").write_text('task = "cartpole"\nmax_cost = 500.0')
    asked = rewardgen("run", "--config", "x.toml", "--model", "openai/gpt-5.1")
    assert asked.returncode == 3 and "max cost 500.0: so many US dollars may be spent" in asked.stderr


def test_who_agreed_to_some_lines_of_a_file_is_asked_about_the_others(rewardgen, tmp_path):
    """What is typed hides the file's own address, and the same file in another folder names other tasks."""
    text = 'task = "there.py"\napi_base = "http://192.0.2.1/v1"\nmodel = "replay:gone"\n'
    for folder in (tmp_path, tmp_path / "other"):
        folder.mkdir(exist_ok=True)
        (folder / "x.toml").write_text(text)
    command = ("run", "--config", "x.toml")
    _, agreed = on_a_terminal(tmp_path, "y\n", (*command, "--api-base", "http://192.0.2.2/v1"))
    assert "task there.py" in agreed and "api base" not in agreed and "replay:" not in agreed
    asked = rewardgen(*command).stderr
    assert "task there.py" in asked and "api base http://192.0.2.1/v1: receives the key" in asked
    on_a_terminal(tmp_path, "y\n", command)
    assert "decides:" not in rewardgen(*command).stderr
    assert "decides:" in on_a_terminal(tmp_path / "other", "n\n", command)[1]


def test_a_file_of_settings_alone_and_what_is_typed_need_no_word(rewardgen, tmp_path):
    (tmp_path / "x.toml").write_text('task = "cartpole"\ncandidates = 0')
    assert "decides:" not in rewardgen("run", "--config", "x.toml").stderr
    (tmp_path / "x.toml").write_text('task = "there.py"\nmodel = "no/model"')
    assert "decides:" not in rewardgen("run", "no_such_task", "--model", "builtin", "--config", "x.toml").stderr


def on_a_terminal(folder, answer, words=OFF, within_s=60.0):
    """Exit code of the command and what it showed, with an answer typed ahead; a copy of this process runs it."""
    process, ours = pty.fork()
    if process == 0:
        run_here(folder, words)
    try:
        os.write(ours, answer.encode())
        shown = b"".join(iter(lambda: read(ours, within_s), b""))
    finally:
        os.close(ours)  # which ends what still waits there
        returncode = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    return returncode, " ".join(shown.decode(errors="replace").split())


def run_here(folder, words):
    """Run the command in this process, on its own terminal, and end it."""
    returncode = -1
    try:
        os.chdir(folder)
        for name in os.environ.keys() - environment().keys():
            del os.environ[name]
        os.environ |= environment()
        sys.stdin, sys.stdout, sys.stderr = (os.fdopen(number, mode) for number, mode in enumerate("rww"))
        returncode = main(words)
        sys.stdout.flush()
    finally:
        os._exit(returncode)


def read(terminal, within_s):
    """What comes next; nothing at the end, which Linux tells as an error."""
    try:
        return os.read(terminal, 1 << 12) if select.select([terminal], [], [], within_s)[0] else b""
    except OSError:
        return b""


@pytest.mark.skipif(not landlock_abi()[0], reason="needs Landlock, which confines one thread")
def test_a_task_that_starts_a_thread_is_checked_without_a_sandbox(rewardgen, tmp_path):
    started = "import threading, time\nthreading.Thread(target=time.sleep, args=(30,), daemon=True).start()\n"
    file = point(tmp_path, ("import torch\n", f"import torch\n{started}"))
    refused = rewardgen("tasks", "check", file)
    assert refused.returncode == 2 and "`--sandbox off`" in refused.stderr
    assert "no problems" in rewardgen("tasks", "check", file, "--sandbox", "off").stdout
