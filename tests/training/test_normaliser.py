import pytest
import torch

from rewardgen.training.shared.normaliser import ObservationNormaliser, RewardScaler, RunningMoments

CPU = torch.device("cpu")


def test_moments_of_batches_are_the_moments_of_all_rows():
    rows = torch.randn(2, 100, 3, dtype=torch.float64) * 5 + 7
    moments = RunningMoments.zeros(2, 3, CPU)
    for part in rows.split((10, 60, 30), dim=1):
        moments.update(part)
    torch.testing.assert_close(moments.mean, rows.mean(1))
    torch.testing.assert_close(moments.variance, rows.var(1, correction=0))


def test_normalisers_of_slices_are_independent():
    seen = torch.stack([torch.randn(200, 2), 50 + 10 * torch.randn(200, 2)])
    both = ObservationNormaliser(RunningMoments.zeros(2, 2, CPU))
    both.update(seen)
    alone = ObservationNormaliser(RunningMoments.zeros(1, 2, CPU))
    alone.update(seen[1:])
    torch.testing.assert_close(both(seen)[1:], alone(seen[1:]))
    assert both(seen)[0].std() < 1.2 and both(seen)[1].mean().abs() < 0.1


def test_rewards_of_very_different_size_are_scaled_alike_and_keep_their_sign():
    reward = torch.randn(50, 1, 8)
    done = torch.zeros(50, 2, 8, dtype=torch.bool)
    scaled = RewardScaler(2, 8, 0.99, CPU)(torch.cat([reward, -1000 * reward], dim=1), done)
    torch.testing.assert_close(scaled[:, 0], -scaled[:, 1], rtol=1e-3, atol=1e-3)
    assert torch.equal(scaled[:, 0].sign(), reward[:, 0].sign())


def test_part_of_a_reward_that_is_cut_off_is_told_for_each_slice():
    reward = torch.zeros(1000, 3, 2)
    reward[:, 1] = torch.randn(1000, 2)
    reward[500, 2] = 100.0  # a return of this size in one step of 1000: 32 standard deviations, of which 10 are kept
    scaler = RewardScaler(3, 2, 0.0, CPU)
    scaled = scaler(reward, torch.zeros(1000, 3, 2, dtype=torch.bool))
    assert scaler.clipped.tolist() == pytest.approx([0.0, 0.0, 1 - 10 / 1000**0.5], abs=0.01)
    assert scaled[500, 2, 0] == 10.0
