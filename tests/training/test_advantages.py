import pytest
import torch

from rewardgen.training.ppo.learner import generalised_advantages


def advantages(terminated=(False, False, False), truncated=(False, False, False)):
    """Rewards 1, 2, 3; values 0.5, 1, 1.5; next values 1, 1.5, 4; discount 0.9, lambda 0.5."""
    ends = torch.tensor(terminated), torch.tensor(truncated)
    return generalised_advantages(
        torch.tensor([1.0, 2.0, 3.0]),
        torch.tensor([0.5, 1.0, 1.5]),
        torch.tensor([1.0, 1.5, 4.0]),
        terminated=ends[0],
        done=ends[0] | ends[1],
        discount=0.9,
        gae_lambda=0.5,
    ).tolist()


def test_advantages_without_episode_ends_are_those_computed_by_hand():
    # deltas: 1 + .9 - .5 = 1.4;  2 + 1.35 - 1 = 2.35;  3 + 3.6 - 1.5 = 5.1
    # 5.1;  2.35 + .45 * 5.1 = 4.645;  1.4 + .45 * 4.645 = 3.49025
    assert advantages() == pytest.approx([3.49025, 4.645, 5.1])


def test_truncation_is_bootstrapped_with_the_value_of_the_final_observation_and_stops_the_sum():
    # 1.4 + .45 * 2.35 = 2.4575: the later delta of 5.1 belongs to another episode
    assert advantages(truncated=(False, True, False)) == pytest.approx([2.4575, 2.35, 5.1])


def test_termination_is_worth_nothing_afterwards():
    # delta of the second step without its next value: 2 - 1 = 1;  1.4 + .45 * 1 = 1.85
    assert advantages(terminated=(False, True, False)) == pytest.approx([1.85, 1.0, 5.1])
