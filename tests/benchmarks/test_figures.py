import pytest

from benchmarks.figures import Figure, ratio


def test_a_ratio_is_taken_within_each_repetition_before_the_median():
    found = ratio("ours / theirs", "hopper", over=[10.0, 100.0, 30.0], under=[5.0, 100.0, 10.0])
    assert found.values == (2.0, 1.0, 3.0)
    assert found.median == 2.0


@pytest.mark.parametrize(
    ("at_most", "target", "reached"), [(False, 2.0, True), (False, 2.1, False), (True, 2.0, True), (True, 1.9, False)]
)
def test_the_median_decides_whether_a_target_is_reached(at_most, target, reached):
    figure = Figure(name="a", subject="b", unit="", values=(9.0, 2.0, 1.0), target=target, at_most=at_most)
    assert figure.reached is reached
