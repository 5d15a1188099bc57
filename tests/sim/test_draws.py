import numpy as np
import torch

from rewardgen.sim.view import Draws, stream_keys


def draws(seed: int, worlds: int) -> Draws:
    indices = np.arange(worlds, dtype=np.uint64)
    return Draws(stream_keys(np.full_like(indices, seed), indices))


def test_a_world_draws_the_same_whoever_draws_beside_it():
    all_worlds = draws(3, 50).uniform(0, 1, 4)
    indices = np.array([7, 31], np.uint64)
    some = Draws(stream_keys(np.full_like(indices, 3), indices)).uniform(0, 1, 4)
    assert torch.equal(some, all_worlds[[7, 31]])


def test_uniform_numbers_fill_their_range_evenly():
    values = draws(0, 20_000).uniform(-2.0, 6.0, 3)
    assert values.shape == (20_000, 3)
    assert values.min() >= -2.0 and values.max() < 6.0
    torch.testing.assert_close(values.mean(0), torch.full((3,), 2.0, dtype=torch.float64), atol=0.05, rtol=0)
    shares = torch.histc(values.flatten(), 8, -2.0, 6.0) / values.numel()
    torch.testing.assert_close(shares, torch.full((8,), 0.125, dtype=torch.float64), atol=0.005, rtol=0)


def test_normal_numbers_have_the_standard_deviation_asked_for():
    values = draws(1, 20_000).normal(0.5, 2)
    assert abs(float(values.mean())) < 0.01
    assert abs(float(values.std()) - 0.5) < 0.01
    assert 0.04 < float((values.abs() > 1.0).double().mean()) < 0.052


def test_bounds_may_differ_by_entry():
    values = draws(0, 1000).uniform([-1.0, 10.0], [1.0, 20.0], 2)
    assert values[:, 0].max() < 1.0 and values[:, 1].min() >= 10.0


def test_seeds_worlds_and_successive_draws_are_uncorrelated():
    first = draws(0, 5000)
    columns = [first.uniform(0, 1, 1)[:, 0], first.uniform(0, 1, 1)[:, 0], draws(1, 5000).uniform(0, 1, 1)[:, 0]]
    columns.append(columns[0].roll(1))
    correlation = torch.corrcoef(torch.stack(columns))
    assert float((correlation - torch.eye(4)).abs().max()) < 0.05
