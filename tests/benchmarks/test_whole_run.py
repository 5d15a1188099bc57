from pathlib import Path

import pytest

from benchmarks.whole_run import RunOptions, Span, bench_search, covered, idle_share

POINT = str(Path(__file__).parent.parent / "tasks" / "point.py")


def test_time_that_several_spans_share_is_covered_once():
    assert covered([Span(5, 6), Span(0, 2), Span(1, 3), Span(1, 2)]) == 4
    assert covered([]) == 0.0


def test_cores_are_idle_where_one_of_them_ends_before_the_other():
    phases = [[Span(0, 4), Span(0, 2)], [], [Span(100, 102), Span(100, 102)]]
    assert idle_share(phases, cores=2) == pytest.approx(1 - 10 / 12)


@pytest.mark.slow
def test_the_shares_of_a_run_add_up():
    options = RunOptions(POINT, generations=2, candidates=3, seeds=1, final_seeds=2, workers=2, env_steps=4096)
    found = {figure.name: figure for figure in bench_search(options, lambda message: None).figures}
    assert all(0.0 <= figure.median < 100.0 for figure in found.values()), found
    outside = found["outside training"]
    assert outside.median > found["measuring the task"].median + found["reviewing rewards"].median
    assert outside.target == 5.0 and outside.at_most
