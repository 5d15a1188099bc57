import pytest

from benchmarks.__main__ import main, show
from benchmarks.figures import Figure, Report


@pytest.mark.parametrize("command", ["sim", "train", "search"])
def test_every_benchmark_has_help_with_an_example_and_its_quick_form(command, capsys):
    assert main([command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"Example: python -m benchmarks {command}" in shown
    assert "--quick" in shown and "--json" in shown


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (("sim", "hoper"), "unknown task `hoper`", "did you mean `hopper`?"),
        (("train", "--task", "hoper"), "no training benchmark for `hoper`", "did you mean `hopper`?"),
        (("train", "--sb3", "best", "--workers", "0"), "--workers", "python -m benchmarks train --help"),
        (("train", "--stacking", "--against-sb3-final"), "two measurements", "one at a time"),
        (("sim", "--threads", "0"), "--threads", "python -m benchmarks sim --help"),
        (("tarin",), "tarin", "did you mean `train`?"),
    ],
)
def test_what_cannot_be_measured_is_an_error_with_a_hint(arguments, message, hint, capsys):
    assert main(arguments) == 2
    shown = capsys.readouterr().err
    assert message in shown and hint in shown.partition("hint:")[2]


def test_the_table_shows_the_spread_and_whether_a_target_is_reached(capsys):
    values = {"name": "ours / C loop", "subject": "hopper", "unit": "x", "target": 0.75}
    figures = (Figure(values=(0.8, 0.7, 0.9), **values), Figure(values=(0.5,), **values))
    show(Report(bench="sim", settings={}, figures=figures, notes=("a note",)), json=False)
    lines = capsys.readouterr().out.splitlines()
    assert [" ".join(line.split()) for line in lines if "hopper" in line] == [
        "hopper ours / C loop 0.8x [0.7, 0.9] ≥ 0.75 reached",
        "hopper ours / C loop 0.5x [0.5, 0.5] ≥ 0.75 missed",
    ]
    assert "a note" in lines
