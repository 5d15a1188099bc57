import pytest

from benchmarks.figures import Figure, Report, ratio


def test_a_ratio_is_taken_within_each_repetition_before_the_median():
    found = ratio("ours / theirs", "hopper", over=[10.0, 100.0, 30.0], under=[5.0, 100.0, 10.0])
    assert found.values == (2.0, 1.0, 3.0)
    assert found.median == 2.0


def test_both_sides_of_a_ratio_have_as_many_repetitions():
    with pytest.raises(ValueError):
        ratio("ours / theirs", "hopper", [1.0, 2.0], [1.0])


@pytest.mark.parametrize(
    ("at_most", "target", "reached"), [(False, 2.0, True), (False, 2.1, False), (True, 2.0, True), (True, 1.9, False)]
)
def test_the_median_decides_whether_a_target_is_reached(at_most, target, reached):
    figure = Figure(name="a", subject="b", unit="", values=(9.0, 2.0, 1.0), target=target, at_most=at_most)
    assert figure.reached is reached


def test_without_a_target_there_is_no_verdict():
    assert Figure(name="a", subject="b", unit="", values=(1.0,)).reached is None


def test_the_json_of_a_report_holds_every_repetition_with_its_spread_and_verdict():
    figure = Figure(name="share", subject="a run", unit="%", values=(3.0, 8.0, 4.0), target=5.0, at_most=True)
    report = Report(bench="search", settings={"task": "point"}, figures=(figure,), notes=("a note",))
    assert report.as_json() == {
        "bench": "search",
        "settings": {"task": "point"},
        "figures": [
            {
                "name": "share",
                "subject": "a run",
                "unit": "%",
                "values": [3.0, 8.0, 4.0],
                "target": 5.0,
                "at_most": True,
                "median": 4.0,
                "min": 3.0,
                "max": 8.0,
                "reached": True,
            }
        ],
        "notes": ["a note"],
        "intervals": {},
    }
