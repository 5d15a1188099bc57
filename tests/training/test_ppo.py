import pytest
import torch

from rewardgen.training.ppo import update as ppo
from rewardgen.training.ppo.networks import ActorCritic, NetworkSizes, initial_parameters
from rewardgen.training.ppo.settings import PpoSettings
from rewardgen.training.shared.adam import StackedAdam
from rewardgen.training.shared.seeding import slice_generators
from tests.training.builders import TINY, UPRIGHT, policies

CPU = torch.device("cpu")


def test_objective_gains_nothing_beyond_the_clip_range_but_pays_for_every_loss():
    ratio = torch.tensor([[1.5, 0.5, 1.5, 0.5]])
    advantage = torch.tensor([[1.0, 1.0, -1.0, -1.0]])
    terms = [float(ppo.clipped_objective(ratio[:, i : i + 1], advantage[:, i : i + 1], 0.2)) for i in range(4)]
    assert terms == pytest.approx([1.2, 0.5, -1.5, -0.8])


def test_stacked_adam_equals_an_adam_and_a_clip_per_slice():
    start, gradients = (
        torch.randn(3, 10),
        [torch.randn(3, 10) * torch.tensor([[0.01], [1.0], [100.0]]) for _ in range(5)],
    )
    flat = start.clone()
    optimiser = StackedAdam(flat, 1e-3, max_grad_norm=1.0)
    for gradient in gradients:
        optimiser.step(gradient)
    for index in range(3):
        single = torch.nn.Parameter(start[index].clone())
        adam = torch.optim.Adam([single], lr=1e-3, eps=1e-5)
        for gradient in gradients:
            single.grad = gradient[index].clone()
            torch.nn.utils.clip_grad_norm_([single], 1.0)
            adam.step()
        torch.testing.assert_close(flat[index], single.data)


def test_every_slice_has_a_learning_rate_of_its_own():
    optimiser = StackedAdam(torch.zeros(3, 2), 1e-3, max_grad_norm=1.0)
    optimiser.adapt(torch.tensor([0.1, 0.01, 0.0001]), target=0.01)
    assert optimiser.learning_rate[:, 0].tolist() == pytest.approx([1e-3 / 1.5, 1e-3, 1.5e-3])


def bandit(targets, seeds):
    """One-step episodes whose reward is the closeness of the action to a target; the trained mean actions."""
    sizes, settings = NetworkSizes(2, 1, (16,)), PpoSettings()
    networks = ActorCritic(sizes, initial_parameters(sizes, slice_generators(seeds, "networks", CPU), 1.0))
    optimiser = StackedAdam(networks.flat, 1e-3, 1.0)
    orders, noise = slice_generators(seeds, "minibatches", CPU), slice_generators(seeds, "exploration", CPU)
    observation = torch.ones(len(seeds), 256, 2)
    for _ in range(30):
        with torch.no_grad():
            mean, log_std = networks.policy(observation), networks.log_std.clone()
            drawn = torch.stack([torch.randn(256, 1, generator=generator) for generator in noise])
            action = mean + drawn * log_std.exp()
            reward = -(action[..., 0] - torch.tensor(targets).unsqueeze(1)).square()
        taken = ppo.Transitions(observation, action, mean, log_std, reward, torch.zeros_like(reward))
        ppo.update(networks, optimiser, taken, settings, orders, settings.epochs)
    return networks.policy(observation)[:, 0, 0].tolist()


def test_each_slice_learns_what_its_own_reward_asks_for():
    assert bandit([0.5, -0.8], [0, 1]) == pytest.approx([0.5, -0.8], abs=0.1)


@pytest.mark.parametrize(
    ("begins", "expected"),
    [(0.0, [0.04, 0.035, 0.03, 0.025]), (0.5, [0.04, 0.04, 0.04, 0.03])],
    ids=["all along", "late"],
)
def test_the_target_of_the_divergence_falls_in_a_line_by_the_share_asked_for(tmp_path, monkeypatch, begins, expected):
    targets = []
    monkeypatch.setattr(ppo, "update", lambda *arguments: targets.append(arguments[3].target_kl))
    policies(
        tmp_path / "run",
        {"a": UPRIGHT},
        TINY.model_copy(update={"anneal": 0.5, "anneal_from": begins, "target_kl": 0.04}),
    )
    assert targets == pytest.approx(expected), "four updates of 512 steps"


@pytest.mark.parametrize("field", ["epochs", "minibatches", "clip", "learning_rate", "initial_std"])
def test_settings_that_cannot_train_are_refused_before_a_seed_fails(field):
    with pytest.raises(ValueError, match=field):
        PpoSettings(**{field: 0})
