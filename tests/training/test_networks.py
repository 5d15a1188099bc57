import torch
from torch import nn

from rewardgen.training.ppo.networks import (
    ActorCritic,
    NetworkSizes,
    initial_parameters,
    kl_divergence,
    log_probability,
)
from rewardgen.training.shared.seeding import slice_generators

CPU = torch.device("cpu")

SIZES = NetworkSizes(observation=5, action=2, hidden=(8, 6))


def stacked(seeds):
    return ActorCritic(SIZES, initial_parameters(SIZES, slice_generators(seeds, "networks", CPU), initial_std=0.5))


def single_network(parameters, network, index):
    """One slice's network built from torch's own layers."""
    layers = []
    for layer in range(3):
        linear = nn.Linear(*parameters[f"{network}.{layer}.weight"][index].shape)
        linear.weight.data = parameters[f"{network}.{layer}.weight"][index].T.detach()
        linear.bias.data = parameters[f"{network}.{layer}.bias"][index, 0].detach()
        layers += [linear, nn.Tanh()]
    return nn.Sequential(*layers[:-1])


def test_stacked_networks_equal_single_networks():
    networks = stacked([3, 4, 5])
    observation = torch.randn(3, 7, 5)
    parameters = networks.parameters
    for index in range(3):
        policy, value = (single_network(parameters, name, index) for name in ("policy", "value"))
        torch.testing.assert_close(networks.policy(observation)[index], policy(observation[index]))
        torch.testing.assert_close(networks.value(observation)[index], value(observation[index])[:, 0])


def test_gradient_of_a_slice_is_that_of_its_own_networks():
    networks = stacked([3, 4])
    for rows in (7, 4):  # another number of rows needs other buffers
        observation, mean_weight, value_weight = torch.randn(2, rows, 5), torch.randn(2, rows, 2), torch.randn(2, rows)
        networks.forward(observation)
        gradient = networks.backward(mean_weight, torch.full((2, 1, 2), 0.5), value_weight)
        for index in range(2):
            policy, value = (single_network(networks.parameters, name, index) for name in ("policy", "value"))
            loss = (policy(observation[index]) * mean_weight[index]).sum()
            loss = loss + (value(observation[index])[:, 0] * value_weight[index]).sum()
            loss.backward()
            parts = [part for network in (policy, value) for part in flat_gradients(network)]
            torch.testing.assert_close(gradient[index], torch.cat([*parts, torch.full((2,), 0.5)]))


def flat_gradients(network):
    """In the order and layout of the stacked parameters: weight (in, out), bias, layer by layer."""
    return [(each.grad.T if each.dim() == 2 else each.grad).flatten() for each in network.parameters()]


def test_initial_parameters_of_a_slice_do_not_depend_on_its_neighbours():
    assert torch.equal(stacked([3, 4, 5]).flat[1], stacked([4]).flat[0])
    assert not torch.equal(stacked([3]).flat[0], stacked([4]).flat[0])


def test_untrained_policy_has_the_wanted_spread_and_stays_near_zero():
    networks = stacked([0])
    assert torch.allclose(networks.parameters["log_std"].exp(), torch.tensor(0.5))
    assert networks.policy(torch.randn(1, 100, 5)).abs().max() < 0.1


def test_densities_agree_with_torch_distributions():
    mean, other, action = (torch.randn(2, 9, 3) for _ in range(3))
    log_std, other_log_std = torch.randn(2, 1, 3), torch.randn(2, 1, 3)
    first = torch.distributions.Normal(mean, log_std.exp().expand_as(mean))
    second = torch.distributions.Normal(other, other_log_std.exp().expand_as(mean))
    torch.testing.assert_close(log_probability(action, mean, log_std), first.log_prob(action).sum(-1))
    expected = torch.distributions.kl_divergence(first, second).sum(-1).mean(-1)
    torch.testing.assert_close(kl_divergence(mean, log_std, other, other_log_std), expected)
