"""Stable-Baselines3 behind the trainer's seam: the same policies, records and boundaries as our own learner's."""

import gymnasium
import pytest
import torch

from rewardgen.sandbox.process import Limits
from rewardgen.store.records import RewardSpec, SliceSpec
from rewardgen.tasks.baselines import baseline_sources
from rewardgen.tasks.loading import lasting_reference, load_task
from rewardgen.training.policies import load_policy
from rewardgen.training.protocol import TRAINERS, TrainerSetup
from rewardgen.training.sb3.settings import SacSettings, Sb3Job, Sb3PpoSettings, Td3Settings
from rewardgen.training.sb3.train_job import SliceTraining
from tests.e2e.command import POINT

FAST = {"env_steps": 300, "evaluation_phases": 2, "evaluation_envs": 2, "hidden": (8,)}
SETTINGS = {
    "ppo": Sb3PpoSettings(**FAST, num_envs=2, options={"n_steps": 50, "batch_size": 50, "n_epochs": 2}),
    "sac": SacSettings(**FAST),
    "td3": Td3Settings(**FAST),
}
CLOSE = "def compute_reward(position):\n    return {'close': -position.abs()}\n"
LOST = "def compute_reward(position):\n    return {'x': torch.log(position - position - 1.0)}\n"


def one_slice(folder, algorithm, task=str(POINT), source=CLOSE):
    spec = SliceSpec(candidate_id="a", seed=0)
    reward = RewardSpec(candidate_id="a", source=source)
    job = Sb3Job(task=task, rewards=(reward,), slices=(spec,), settings=SETTINGS[algorithm], folder=str(folder))
    return SliceTraining(load_task(task), job, lambda message: None)


@pytest.mark.parametrize("algorithm", SETTINGS)
def test_a_saved_policy_acts_as_stable_baselines3_does(tmp_path, algorithm):
    training = one_slice(tmp_path, algorithm)
    result = training.run()
    assert result.failure is None and len(result.curve) == 2 and result.components["close"]
    policy = load_policy(tmp_path / "a-s0.npz")
    observation = 3 * torch.randn(50, policy.observation_size, generator=torch.Generator().manual_seed(0))
    seen = observation.numpy()
    if training._normalised is not None:
        seen = training._normalised.normalize_obs(seen)
    theirs, _ = training._model.predict(seen, deterministic=True)
    span = (policy.action_high - policy.action_low) / 2
    torch.testing.assert_close(
        policy.act(observation), policy.action_low + span * (1 + torch.from_numpy(theirs)), atol=1e-5, rtol=1e-5
    )


def test_a_policy_that_chooses_acts_as_stable_baselines3_does(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    task = lasting_reference("CartPole-v1")
    training = one_slice(
        tmp_path, "ppo", task, "def compute_reward(pole_angle):\n    return {'up': -pole_angle.abs()}\n"
    )
    assert isinstance(training._env.action_space, gymnasium.spaces.Discrete)
    training.run()
    policy = load_policy(tmp_path / "a-s0.npz")
    observation = torch.randn(50, 4, generator=torch.Generator().manual_seed(0))
    theirs, _ = training._model.predict(training._normalised.normalize_obs(observation.numpy()), deterministic=True)
    assert policy.act(observation).argmax(1).tolist() == theirs.tolist()


def test_a_slice_that_fails_is_a_result_and_the_next_one_is_not_disturbed(tmp_path):
    results = []
    trainer = TRAINERS.get("sb3-ppo").make(TrainerSetup(str(POINT), SETTINGS["ppo"], 1, tmp_path / "scratch", Limits()))
    trainer.train(
        [RewardSpec(candidate_id=id, source=source) for id, source in (("lost", LOST), ("a", CLOSE))],
        [SliceSpec(candidate_id=id, seed=0) for id in ("lost", "a")],
        folder=tmp_path,
        on_progress=lambda message: None,
        on_slice=results.append,
    )
    found = {each.candidate_id: each for each in results}
    assert found["lost"].failure.kind == "non-finite" and "x" in found["lost"].failure.message
    alone = one_slice(tmp_path / "alone", "ppo").run()
    assert found["a"].curve == alone.curve
    assert found["a"].final_fitness is not None  # by the clean worker, from the policy's file


@pytest.mark.slow
def test_what_gymnasium_calls_solved_is_learned_from_the_environments_own_reward(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    task = load_task(lasting_reference("CartPole-v1"))
    job = Sb3Job(
        task="CartPole-v1",
        rewards=(RewardSpec(candidate_id="human", source=baseline_sources(task)["human"], own=True),),
        slices=(SliceSpec(candidate_id="human", seed=0),),
        settings=Sb3PpoSettings(env_steps=30_000, evaluation_phases=2),
        folder=str(tmp_path),
    )
    result = SliceTraining(task, job, lambda message: None).run()
    assert result.curve[-1].success_rate > 0.8 and result.curve[-1].episode_return > 450
