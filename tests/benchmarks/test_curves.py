import pytest

from benchmarks.curves import Point, first_at, mean_curve, one_after_the_other, times_to

CURVES = {
    "quick": [Point(10, 1.0, 0.2), Point(20, 2.0, 0.9), Point(30, 3.0, 0.5)],
    "slow": [Point(10, 1.5, 0.1), Point(20, 4.0, 0.8)],
    "never": [Point(10, 2.5, 0.1), Point(20, 5.0, 0.3)],
}


def test_a_slice_is_timed_to_where_it_reaches_the_target_first():
    assert times_to(CURVES, 0.8).seconds == {"quick": 2.0, "slow": 4.0, "never": 5.0}


def test_a_slice_that_misses_the_target_counts_its_budget_and_is_named():
    times = times_to(CURVES, 0.85, budget_s=100.0)
    assert times.seconds == {"quick": 2.0, "slow": 100.0, "never": 100.0}
    assert times.missed == ("slow", "never")


def test_the_mean_of_slices_ends_with_the_shortest_curve():
    curve = mean_curve(CURVES, max)
    assert [(each.env_steps, each.seconds) for each in curve] == [(10, 2.5), (20, 5.0)]
    assert [each.fitness for each in curve] == pytest.approx([0.4 / 3, 2.0 / 3])
    assert (first_at(curve, 0.5), first_at(curve, 0.7)) == (5.0, None)


def test_slices_one_after_the_other_on_every_core_take_their_mean_time_for_each_turn():
    assert one_after_the_other([10.0, 30.0], slices=16, cores=2) == pytest.approx(160.0)
