import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import show
from benchmarks.figures import Figure, Report

POINT = str(Path(__file__).parent.parent / "tasks" / "point.py")


def rewardgen(*arguments):
    return subprocess.run([sys.executable, "-m", "rewardgen", *arguments], capture_output=True, text=True)


@pytest.mark.parametrize("command", ["sim", "train", "search", "ablation", "reward"])
def test_every_benchmark_has_help_with_an_example_and_its_quick_form(command):
    shown = rewardgen("bench", command, "--help").stdout
    assert f"Example: rewardgen bench {command}" in shown
    assert "--quick" in shown and "--json" in shown


@pytest.mark.parametrize("arguments", [("sim", "hoper"), ("search", "--task", "hoper")], ids=" ".join)
def test_an_unknown_task_is_an_error_with_the_nearest_name(arguments):
    done = rewardgen("bench", *arguments)
    assert done.returncode == 2
    assert "error: unknown task `hoper`" in done.stderr
    assert "did you mean `hopper`?" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (("train", "--task", "hoper"), "no training benchmark for `hoper`", "did you mean `hopper`?"),
        (("train", "--sb3", "best", "--workers", "0"), "--workers", "rewardgen bench train --help"),
        (("train", "--stacking", "--against-sb3-final"), "two measurements", "one at a time"),
        (("sim", "--threads", "0"), "--threads", "rewardgen bench sim --help"),
    ],
)
def test_what_cannot_be_measured_is_an_error_with_a_hint(arguments, message, hint):
    done = rewardgen("bench", *arguments)
    assert done.returncode == 2
    assert message in done.stderr and hint in done.stderr.partition("hint:")[2]


def test_json_is_all_there_is_on_stdout():
    done = rewardgen("bench", "sim", POINT, "--worlds", "4", "--repetitions", "1", "--quick", "--json")
    found = json.loads(done.stdout)
    assert found["bench"] == "sim" and found["settings"]["worlds"] == 4
    assert [figure["name"] for figure in found["figures"]] == ["ours", "C loop", "ours / C loop"]


def test_the_table_shows_the_spread_and_whether_a_target_is_reached(capsys):
    values = {"name": "ours / C loop", "subject": "hopper", "unit": "x", "target": 0.75}
    figures = (Figure(values=(0.8, 0.7, 0.9), **values), Figure(values=(0.5,), **values))
    show(Report(bench="sim", settings={}, figures=figures, notes=("a note",)), json=False)
    lines = capsys.readouterr().out.splitlines()
    assert [" ".join(line.split()) for line in lines if "hopper" in line] == [
        "hopper ours / C loop 0.80x [0.70, 0.90] ≥ 0.75 reached",
        "hopper ours / C loop 0.50x [0.50, 0.50] ≥ 0.75 missed",
    ]
    assert "a note" in lines
