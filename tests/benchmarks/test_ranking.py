import tarfile
from pathlib import Path

import pytest

from benchmarks.curves import Point
from benchmarks.learner import Outcome
from benchmarks.ranking import RankingOptions, _by_reward, bench_ranking
from rewardgen.core.errors import UsageError
from rewardgen.store.records import RewardSpec

EVIDENCE = Path(__file__).parents[2] / "benchmarks" / "evidence"
TWO = [RewardSpec(candidate_id=name, source="") for name in ("a", "b")]


def test_a_reward_counts_with_its_seeds_mean_at_the_end_or_at_a_time():
    curves = {
        f"{name} seed {seed}": [Point(500, 5.0, 10.0 * number + seed), Point(1000, 10.0, 0.0)]
        for number, name in enumerate("ab")
        for seed in (0, 1)
    }
    outcome = Outcome(curves, (1.0, 2.0, 3.0, 5.0), 10.0)
    assert _by_reward(outcome, TWO, 2) == [1.5, 4.0]
    assert _by_reward(outcome, TWO, 2, until=7.0) == [0.5, 10.5]


def test_unknown_settings_are_named():
    with pytest.raises(UsageError, match="no settings `sak`") as caught:
        bench_ranking(["somewhere"], RankingOptions(settings=("sak",)), lambda message: None)
    assert "sac" in caught.value.hint


@pytest.mark.slow
def test_rewards_of_a_recorded_run_are_ranked_by_each_learner(tmp_path):
    with tarfile.open(EVIDENCE / "cartpole-evolve-0.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    settings = ("sac", "task", "dense")
    options = RankingOptions(settings, rewards=3, seeds=1, long_seeds=1, steps=4096, times=2, folder=tmp_path / "kept")
    found = bench_ranking([str(tmp_path / "cartpole-evolve-0")], options, lambda message: None)
    named = {figure.name: figure.median for figure in found.figures}
    assert {f"{name}, {by}" for name in ("task", "dense", "sac") for by in ("at its end", "equal time")} < set(named)
    # Rewards that reach the same by then have no order: NaN.
    assert all(not abs(value) > 1.0 for name, value in named.items() if not name.startswith("time"))
    assert len([*(tmp_path / "kept").iterdir()]) == 4
