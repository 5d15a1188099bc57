"""The batched SAC: what it stores, what it learns from, and what it leaves behind."""

import pytest
import torch

from rewardgen.core.errors import UsageError
from rewardgen.sandbox.process import Limits
from rewardgen.store.records import RewardSpec, SliceSpec
from rewardgen.tasks.loading import lasting_reference, load_task
from rewardgen.training.cache import get_or_measure
from rewardgen.training.policies import load_policy
from rewardgen.training.ppo.networks import initial
from rewardgen.training.protocol import TRAINERS, TrainerSetup
from rewardgen.training.sac.learner import SacLearner
from rewardgen.training.sac.networks import StackedNetwork, drawn_actions
from rewardgen.training.sac.replay import Replay, Sampled
from rewardgen.training.sac.settings import SacJob, SacSettings
from rewardgen.training.setup import card_for, settings_for, trainer_of
from rewardgen.training.shared.batch import SliceBatch
from rewardgen.training.shared.normaliser import RewardScaler
from rewardgen.training.shared.rollout import Rollout
from rewardgen.training.shared.seeding import slice_generators
from tests.training.builders import NAN_WHEN_FAST, UPRIGHT

CPU = torch.device("cpu")
DISCOUNT = 0.9


def numbered(begin, steps, ends):
    """A rollout of one slice with two envs, whose observations tell the control step; `ends` are (step, env, kind)."""
    at = torch.arange(begin, begin + steps).float()
    observation = torch.stack((at, at + 1000), 1).view(steps, 1, 2, 1)
    flags = {kind: torch.zeros(steps, 1, 2, dtype=torch.bool) for kind in ("terminated", "done")}
    for step, env, kind in ends:
        if begin <= step < begin + steps:
            flags["done"][step - begin, 0, env] = True
            flags["terminated"][step - begin, 0, env] = kind == "terminated"
    action = observation / 2
    return Rollout(observation, observation + 0.5, action, action, **flags, begins=flags["done"].flatten(1), inputs={})


@pytest.mark.parametrize("n_step", [1, 3])
def test_returns_over_several_steps_stop_where_an_episode_ends_and_begin_at_no_overwritten_step(n_step):
    ends = [(9, 0, "terminated"), (14, 1, "truncated"), (15, 0, "truncated")]
    replay, scaler = Replay(12, 1, 2, (1, 1), CPU), RewardScaler(1, 2, DISCOUNT, CPU)
    scaler.update(torch.randn(50, 1, 2), torch.zeros(50, 1, 2, dtype=torch.bool))
    for begin in (0, 5, 10, 15):
        rollout = numbered(begin, 5, ends)
        replay.add(rollout, rollout.observation.squeeze(-1) / 1000)
    drawn = replay.sample(4000, n_step, DISCOUNT, scaler, slice_generators([0], "test", CPU))

    def expected(start):
        env, step = divmod(int(start), 1000)
        total, factor = 0.0, 1.0
        for later in range(n_step):
            total += factor * float(scaler.scaled(torch.tensor([[(step + later + 1000 * env) / 1000]])))
            factor *= DISCOUNT
            over = {kind for at, of, kind in ends if (at, of) == (step + later, env)}
            if over or later == n_step - 1:
                return total, step + later + 1000 * env + 0.5, 0.0 if over == {"terminated"} else factor

    starts = drawn.observation[0, :, 0]
    assert sorted(set(starts.tolist())) == [env * 1000.0 + step for env in (0, 1) for step in range(8, 21 - n_step)]
    assert torch.equal(drawn.action, drawn.observation / 2)
    told = torch.tensor([expected(start) for start in starts])
    found = torch.stack((drawn.reward[0], drawn.next_observation[0, :, 0], drawn.discount[0]), 1)
    torch.testing.assert_close(found, told)


def test_densities_are_those_of_a_gaussian_squashed_by_a_tanh():
    generator = torch.Generator().manual_seed(0)
    output, noise = (0.4 * torch.randn(2, 5, size, generator=generator, dtype=torch.float64) for size in (6, 3))
    action, mean, density = drawn_actions(output, noise)
    std = (-5.0 + 3.5 * ((output[..., 3:] + 0.3).tanh() + 1.0)).exp()
    gaussian = torch.distributions.Normal(output[..., :3], std)
    squashed = torch.distributions.TransformedDistribution(gaussian, torch.distributions.TanhTransform())
    torch.testing.assert_close(density, squashed.log_prob(action).sum(-1))
    assert torch.equal(mean, output[..., :3].tanh())


@pytest.mark.parametrize("widths", [(5, 64, 64, 1), (17, 128, 128, 6), (105, 32, 8), (1, 16, 2)])
@pytest.mark.parametrize("normalised", [False, True])
def test_networks_round_alike_at_any_place_in_a_batch_of_any_size(widths, normalised):
    generator = torch.Generator().manual_seed(1)
    flat = torch.stack([initial(widths, 1.0, generator) for _ in range(6)])
    rows, gradient = (torch.randn(6, 64, size, generator=generator) for size in (widths[0], widths[-1]))

    def passed(chosen):
        network = StackedNetwork(widths, flat[chosen], normalised=normalised)
        output = network(rows[chosen])
        (slope,) = torch.autograd.grad((output * gradient[chosen]).sum(), network.flat)
        return torch.cat((output.detach().flatten(1), slope), 1)

    every = passed([0, 1, 2, 3, 4, 5])
    few = [[0, 1], [4, 3], [5, 5], [2, 0, 1], [5, 3, 1, 0]]  # critics come in pairs, policies have two outputs or more
    for chosen in few if widths[-1] == 1 else ([0], [3], *few):
        assert torch.equal(passed(chosen), every[chosen]), chosen


def test_the_policy_that_is_saved_acts_as_the_learner_does_without_noise(tmp_path):
    settings = SacSettings(env_steps=1024, num_envs=16, batch=32, random_steps=128, evaluation_phases=1)
    spec = SliceSpec(candidate_id="a", seed=0)
    reward = RewardSpec(candidate_id="a", source=UPRIGHT)
    job = SacJob(task="cartpole", rewards=(reward,), slices=(spec,), settings=settings, folder=str(tmp_path))
    batch = SliceBatch(load_task("cartpole"), job, lambda message: None, SacLearner)
    (result,) = batch.run()
    assert result.failure is None and result.env_steps == 1024
    policy = load_policy(tmp_path / "a-s0.npz")
    observation = torch.randn(20, policy.observation_size, generator=torch.Generator().manual_seed(0))
    _, mean = batch._learner.act(observation.unsqueeze(0), torch.zeros(1, 20, 1))
    torch.testing.assert_close(policy.act(observation), mean[0] * policy.action_high, atol=1e-5, rtol=1e-5)


def test_two_candidates_train_beside_each_other_and_one_of_them_fails(tmp_path):
    settings = SacSettings(env_steps=2048, num_envs=16, batch=32, hidden=(16,), evaluation_phases=2, evaluation_envs=2)
    trainer = TRAINERS.get("sac").make(TrainerSetup("cartpole", settings, 1, tmp_path / "scratch", Limits()))
    sources = {"up": UPRIGHT, "nan": NAN_WHEN_FAST}
    results, told = {}, []
    trainer.train(
        [RewardSpec(candidate_id=name, source=source) for name, source in sources.items()],
        [SliceSpec(candidate_id=name, seed=seed) for name in sources for seed in (0, 1)],
        folder=tmp_path,
        on_progress=told.append,
        on_slice=lambda result: results.update({(result.candidate_id, result.seed): result}),
    )
    assert {name for name, result in results.items() if result.failure} == {("nan", 0), ("nan", 1)}
    assert all(result.final_fitness is not None for (name, _), result in results.items() if name == "up")
    assert {message["env_steps"] for message in told if message["candidate_id"] == "up"} == {1024, 2048}


def test_it_trains_on_the_cpu_only():
    task = get_or_measure("cartpole")
    assert settings_for("sac", task, 5000).env_steps == 5000
    with pytest.raises(UsageError, match="`sac` trains on the CPU only"):
        settings_for("sac", task, device="cuda")


def test_a_task_trains_with_the_first_of_its_trainers_and_with_any_other_if_asked():
    task = get_or_measure("cheetah_flip")
    assert trainer_of(task) == "sac" and settings_for(None, task).env_steps == 100_000
    assert settings_for("ppo", task).env_steps == 300_000
    assert trainer_of(task.model_copy(update={"training": {}})) == "ppo"


def learner(slices=1, **settings):
    quick = {"num_envs": 16, "batch": 32, "hidden": (32,), "steps_per_update": 1, "learning_rate": 5e-3}
    return SacLearner(2, 1, list(range(slices)), SacSettings(random_steps=1, **{**quick, **settings}), CPU)


def bandit(policy, generator, best):
    """A rollout of episodes of one step, and rewards by how near the action is to the best one of each slice."""
    observation = torch.zeros(4, len(best), 16, 2)
    noise = torch.randn(4, len(best), 16, 1, generator=generator)
    action, mean = (torch.stack(each) for each in zip(*map(policy.act, observation, noise), strict=True))
    ends = torch.ones(4, len(best), 16, dtype=torch.bool)
    rollout = Rollout(observation, observation, action, mean, ends, ends, ends.flatten(1), {})
    return rollout, -(action.squeeze(-1) - torch.tensor(best).view(1, -1, 1)).square()


def test_each_policy_finds_the_best_action_of_its_own_reward():
    policy, generator = learner(2, temperature=0.001), torch.Generator().manual_seed(0)
    for _ in range(12):
        policy.learn(*bandit(policy, generator, [0.5, -0.3]))
    _, mean = policy.act(torch.zeros(2, 16, 2), torch.zeros(2, 16, 1))
    torch.testing.assert_close(mean[:, 0, 0], torch.tensor([0.5, -0.3]), atol=0.1, rtol=0.0)


@pytest.mark.parametrize(("asked", "rises"), [(0.69, True), (0.0, False)])
def test_a_policy_that_explores_less_than_it_is_asked_to_raises_its_temperature(asked, rises):
    policy, generator = learner(entropy_per_action=asked, steps_per_update=8), torch.Generator().manual_seed(0)
    before = float(policy._log_temperature)
    policy.learn(*bandit(policy, generator, [0.0]))
    assert (float(policy._log_temperature) > before) == rises


def test_critics_learn_the_reward_the_lower_estimate_of_what_comes_and_the_entropy():
    policy, generator = learner(2, temperature=0.7, target_rate=1e-9), torch.Generator().manual_seed(0)
    with torch.no_grad():
        policy._targets.flat.zero_()
        policy._targets.flat[:, -1] = torch.tensor([5.0, -3.0, -2.0, 1.0])  # of slice 0, of slice 1
    rows = (2, 32, 2)
    observation, after = torch.randn(rows, generator=generator), torch.zeros(rows)
    action, noise = (torch.randn(2, 32, 1, generator=generator) for _ in range(2))
    reward, discount = torch.full((2, 32), 0.4), torch.full((2, 32), 0.9)
    density = drawn_actions(policy._actor(after), noise)[2].detach()
    for _ in range(600):
        policy._improve_critics(Sampled(observation, action, reward, after, discount), noise)
    expected = 0.4 + 0.9 * (torch.tensor([-3.0, -2.0]) - 0.7 * density.mean(1))
    found = policy._estimates(policy._critics, observation, action).detach().mean(1)
    torch.testing.assert_close(found, expected.repeat_interleave(2), atol=0.05, rtol=0.0)
    assert abs(float(density.mean())) > 0.2  # otherwise the entropy would not show


def test_a_short_training_reserves_no_more_memory_than_it_uses():
    assert sum(each.numel() for each in learner(env_steps=2000)._replay._rows) < 2 * 2000 * 5


@pytest.mark.parametrize(
    "wrong", [{"batch": 48}, {"hidden": (64, 50)}, {"hidden": (0,)}, {"temperature": -1.0}, {"target_rate": 5.0}]
)
def test_settings_that_cannot_train_are_refused(wrong):
    with pytest.raises((UsageError, ValueError), match=next(iter(wrong))):
        SacSettings(**wrong)


def test_actions_that_are_choices_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with pytest.raises(UsageError, match="SAC does not learn") as caught:
        card_for("sac", get_or_measure(lasting_reference("CartPole-v1")))
    assert "--trainer ppo" in caught.value.hint
