"""Every error: what is wrong, a hint, the exit code, nothing on stdout, no traceback."""

import re

import pytest

from rewardgen.cli.app import main
from tests.cli.conftest import write_run
from tests.ui.story import events

KEYLESS = ("run", "cartpole", "--model", "openai/gpt-5.1")

CASES = {
    "unknown command": (("rnu",), 2, "unknown command `rnu`", "did you mean `run`?"),
    "unknown option": (("run", "cartpole", "--generation", "2"), 2, "`--generation`", "did you mean `--generations`?"),
    "steps": (("run", "cartpole", "--steps", "3"), 2, "`--steps`", "`--env-steps`"),
    "algorithm": (("run", "cartpole", "--algorithm", "sac"), 2, "`--algorithm`", "`--trainer sb3-sac`"),
    "missing argument": (("run",), 2, "TASK", "rewardgen run --help"),
    "unexpected argument": (("run", "cartpole", "hopper"), 2, "unexpected argument `hopper`", "rewardgen run --help"),
    "no member of a union": (
        ("run", "cartpole", "--device", "gpu"),
        2,
        "`--device gpu`: input should be 'cpu', 'cuda' or 'warp-cpu' or 'auto'",
        "--help",
    ),
    "value of a list": (("run", "cartpole", "--ablate", "foo"), 2, "`--ablate foo`: input should be", "--help"),
    "value out of range": (("run", "cartpole", "--seeds", "0"), 2, "`--seeds 0`: input should be greater", "--help"),
    "value of a wrong type": (("run", "cartpole", "--seeds", "two"), 2, "`--seeds two`", "rewardgen run --help"),
    "unknown task": (("run", "hoper"), 2, "unknown task `hoper`", "did you mean `hopper`?"),
    "words instead of a task": (
        ("run", "make the hopper do a backflip"),
        2,
        "these are words",
        "`rewardgen run 'make the hopper do a backflip' --robot hopper --model ...`",
    ),
    "unknown task to show": (("tasks", "show", "hoper"), 2, "unknown task `hoper`", "did you mean `hopper`?"),
    "missing task file": (("tasks", "check", "nowhere/my_task.py"), 2, "nowhere/my_task.py", "rewardgen tasks list"),
    "unknown model": (("run", "cartpole", "--model", "nowhere/x"), 2, "`nowhere/x`", "--api-base"),
    "misspelt scheme": (("run", "cartpole", "--model", "mailbx:here"), 2, "`mailbx:`", "did you mean `mailbox:here`?"),
    "missing key": (KEYLESS, 4, "needs an API key", "export OPENAI_API_KEY="),
    "no runs": (("runs", "show"), 2, "no runs in", "rewardgen run cartpole"),
    "no reward files": (("check", "cartpole"), 2, "no reward file", "rewardgen check cartpole my_reward.py"),
    "missing reward file": (("check", "cartpole", "gone.py"), 2, "gone.py", "path of a Python file"),
}


@pytest.mark.parametrize("name", CASES)
def test_an_error_says_what_is_wrong_and_how_to_fix_it(rewardgen, name):
    arguments, code, message, hint = CASES[name]
    done = rewardgen(*arguments)
    what, _, advice = done.stderr.partition("\n\nhint: ")
    assert done.returncode == code
    assert done.stdout == ""
    assert what.startswith("error: ")
    assert message in what
    assert hint in advice
    assert "Traceback" not in done.stderr


def test_json_does_not_put_an_error_on_stdout(rewardgen):
    done = rewardgen("run", "hoper", "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")


def test_a_runs_folder_that_cannot_be_made_is_refused_before_any_work(rewardgen, tmp_path):
    (tmp_path / "file").write_text("")
    done = rewardgen("run", "cartpole", "--runs-dir", "file/runs")
    assert done.returncode == 2
    assert "cannot write file/runs" in done.stderr
    assert "hint: check the path given with `--runs-dir`" in done.stderr


def test_a_task_file_that_raises_is_told_with_its_line(rewardgen, tmp_path):
    (tmp_path / "my_task.py").write_text("from rewardgen import MujocoTask\n\nspeed = 1 / 0\n")
    done = rewardgen("run", "my_task.py")
    assert done.returncode == 2
    assert "my_task.py raised ZeroDivisionError at line 3" in done.stderr
    assert "hint: fix " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("options", "told", "hint"),
    [
        (("--model", ""), "the `--model` is empty", "leave it out for `builtin`"),
        (("--model", "openai/m", "--api-base", "127.0.0.1:1/v1"), "is not an address", "write `http://127.0.0.1:1/v1`"),
        (("--model", "openai/m", "--api-base", "http://me:secret@host"), "holds a password", "leave it out"),
        (("--executor", "ray", "--cluster", "me:secret@host:1"), "holds a password", "leave it out"),
    ],
)
def test_a_model_that_cannot_be_meant_is_told_before_a_run_is_made(rewardgen, tmp_path, options, told, hint):
    done = rewardgen("run", "cartpole", *options)
    assert done.returncode == 2 and told in done.stderr and hint in done.stderr
    assert not (tmp_path / "runs").exists()


def test_an_unknown_candidate_is_answered_with_the_nearest(rewardgen, finished_run):
    done = rewardgen("runs", "show", "latest", "g01-k9")
    assert done.returncode == 2
    assert f"run {finished_run.name} has no candidate `g01-k9`" in done.stderr
    assert "did you mean `g01-k" in done.stderr


@pytest.mark.parametrize(
    ("line", "change"),
    [
        ("run-started", ".*\n"),
        ('"designed".*g01-k5', ".*\n"),
        ('"designed".*g00-k2.*"repairs":0', ".*\n"),
        ('"trained"', r'(?<="wall_s":)[\d.]+'),
        ('"trained"', r'(?<="elapsed_s":)[\d.]+'),
        ("run-started", r'(?<="settings":{"env_steps":)\d+'),
        ('"trained"', r'(?<="final_fitness":)[\d.]+'),
        ('"studied"', r'(?<="components":).*(?=,"terminations")'),
    ],
)
def test_a_log_that_was_changed_is_told_as_that(rewardgen, tmp_path, line, change):
    log = write_run(tmp_path / "runs") / "events.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    place = next(place for place, text in enumerate(lines) if re.search(line, text))
    to = "" if "\n" in change else '{"a":[]}' if "terminations" in change else "Infinity"
    lines[place] = re.sub(change, to, lines[place])
    log.write_text("".join(lines))
    for command in (("runs", "show"), ("runs", "show", "latest", "g00-k2"), ("report",), ("resume",)):
        done = rewardgen(*command)
        assert done.returncode == 2 and f"{log.name} " in done.stderr and "hint: " in done.stderr
    assert "damaged" in rewardgen("runs", "list").stdout


def test_a_candidate_that_is_planned_only_is_not_shown(rewardgen, tmp_path):
    write_run(tmp_path / "runs", events()[:2])
    done = rewardgen("runs", "show", "latest", "g00-k1")
    assert done.returncode == 2 and "is not designed yet" in done.stderr


def test_an_unexpected_error_is_short_and_debug_shows_where(capsys, monkeypatch):
    def fail(*_):
        raise ZeroDivisionError("a fault of ours")

    monkeypatch.setattr("rewardgen.cli.runs.list_runs", fail)
    assert main(["runs", "list"]) == 1
    said = capsys.readouterr().err
    assert "Traceback" not in said and "a fault of ours" in said
    assert "run the same command with `--debug`" in said
    with pytest.raises(ZeroDivisionError):
        main(["runs", "list", "--debug"])
