"""The measurement of what a call costs; its numbers are for the benchmark, not for a busy test machine."""

from rewardgen.bench.reward_calls import REWARDS, reward_call_cost
from rewardgen.reward.language import check_language


def test_each_reward_is_measured_at_each_number_of_worlds():
    rows = reward_call_cost(worlds=(8, 16), rounds=2, calls=2)
    assert [(row.reward, row.worlds) for row in rows] == [(name, worlds) for name in REWARDS for worlds in (8, 16)]
    assert all(0.0 < seconds < 1.0 for row in rows for seconds in row[2:])
    assert all(0.1 < ratio < 10.0 for row in rows for ratio in (row.language, row.whole))


def test_the_measured_rewards_are_rewards():
    assert [check_language(source) for source in REWARDS.values()] == [()] * len(REWARDS)
