import pytest

from benchmarks.shares import SharesOptions, bench_shares


@pytest.mark.slow
def test_shares_of_a_training_name_its_four_parts_and_add_up():
    report = bench_shares(("cartpole",), SharesOptions(seeds=1, part=0.02), lambda text: None)
    shares = {figure.name: figure.median for figure in report.figures}
    assert list(shares) == ["simulation", "learning", "evaluation", "clean evaluation"]
    assert all(share > 0.0 for share in shares.values())
    assert abs(sum(shares.values()) - 100.0) < 1e-6
