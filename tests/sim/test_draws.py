import numpy as np
import torch

from rewardgen.sim.draws import Draws, stream_keys

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def mixed(values):
    """The mixing of SplitMix64 in unsigned numpy arithmetic."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def keys(seed, *labels):
    found = mixed(np.array([seed], np.uint64) + GOLDEN)
    for label in labels:
        found = mixed(found + (np.array(label, np.uint64) + np.uint64(1)) * GOLDEN)
    return found


def uniform(streams, position, size):
    bits = mixed(streams[:, None] + np.arange(position, position + size, dtype=np.uint64) * GOLDEN)
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def draws(seed: int, envs: int) -> Draws:
    indices = torch.arange(envs)
    return Draws(stream_keys(torch.full_like(indices, seed), indices))


def test_numbers_are_those_of_splitmix64():
    envs, episodes = torch.arange(4000), torch.arange(4000) * 7 % 31
    seed = 2**31 - 1
    streams = stream_keys(torch.full_like(envs, seed), envs, episodes)
    expected = keys(seed, envs.numpy(), episodes.numpy())
    assert np.array_equal(streams.numpy().view(np.uint64), expected)
    draw = Draws(streams)
    assert np.array_equal(draw.uniform(0.0, 1.0, 3).numpy(), uniform(expected, 1, 3))
    radius = np.sqrt(-2.0 * np.log1p(-uniform(expected, 4, 2)))
    angle = torch.from_numpy(2.0 * np.pi * uniform(expected, 6, 2))
    # Equal where numpy takes the C library's logarithm, as it does on most machines.
    torch.testing.assert_close(draw.normal(0.5, 2), 0.5 * torch.from_numpy(radius) * angle.cos(), rtol=5e-16, atol=0.0)


def test_numbers_are_the_same_as_ever():
    indices = torch.arange(3)
    draw = Draws(stream_keys(torch.full_like(indices, 2**31 - 1), indices, indices * 7))
    first = ["0x1.4d3abcb135ed2p-1", "0x1.f286b7a727994p-2", "-0x1.4a2a253f8f264p-2"]
    first += ["-0x1.94fe33c0a3f39p-1", "-0x1.5eecc3bd67e06p-1", "0x1.0b1690a2d362cp+0"]
    assert draw.uniform(-1.0, [1.0, 2.0], 2).flatten().tolist() == [float.fromhex(each) for each in first]
    then = ["0x1.266d1de690032p-1", "-0x1.41a0c210b0544p-1", "-0x1.a834832767ef8p-1"]
    then += ["0x1.817a3a95f0785p-1", "-0x1.95b5612b7a102p-2", "0x1.385a347680817p-1"]
    expected = torch.tensor([float.fromhex(each) for each in then], dtype=torch.float64).view(3, 2)
    torch.testing.assert_close(draw.normal(0.5, 2), expected, rtol=5e-16, atol=0.0)


def test_an_env_draws_the_same_whoever_draws_beside_it():
    several, indices = draws(3, 50), torch.tensor([7, 31])
    some = Draws(stream_keys(torch.full_like(indices, 3), indices))
    for draw in (lambda each: each.uniform(0, 1, 4), lambda each: each.normal(1.0, 3)):
        assert torch.equal(draw(some), draw(several)[[7, 31]])


def test_bounds_may_differ_by_entry():
    values = draws(0, 1000).uniform([-1.0, 10.0], [1.0, 20.0], 2)
    assert values[:, 0].max() < 1.0 and values[:, 1].min() >= 10.0


def test_seeds_envs_and_successive_draws_are_uncorrelated():
    first = draws(0, 5000)
    columns = [first.uniform(0, 1, 1)[:, 0], first.uniform(0, 1, 1)[:, 0], draws(1, 5000).uniform(0, 1, 1)[:, 0]]
    columns.append(columns[0].roll(1))
    correlation = torch.corrcoef(torch.stack(columns))
    assert float((correlation - torch.eye(4)).abs().max()) < 0.05
