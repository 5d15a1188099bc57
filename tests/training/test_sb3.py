"""Stable-Baselines3 behind the trainer's seam: the same policies, records and boundaries as our own learner's."""

from functools import partial

import gymnasium
import pytest
import torch
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from rewardgen.sandbox.process import Limits
from rewardgen.sim.gym_env import start_seed
from rewardgen.store.records import RewardSpec, SliceSpec
from rewardgen.tasks.loading import lasting_reference, load_task
from rewardgen.tasks.members import baseline_sources
from rewardgen.training.cache import get_or_measure
from rewardgen.training.policies import load_policy
from rewardgen.training.protocol import TRAINERS, TrainerSetup
from rewardgen.training.sb3.settings import Sb3Job, Sb3PpoSettings, Sb3SacSettings, Sb3Td3Settings, _zoo, tuned
from rewardgen.training.sb3.train_job import Sb3Training, learner, train_sb3_job
from rewardgen.training.setup import card_for, settings_for
from rewardgen.training.shared.seeding import derive_seed
from tests.e2e.command import POINT

FAST = {"env_steps": 200, "evaluation_phases": 2, "evaluation_envs": 2, "hidden": (8,)}
SETTINGS = {
    "ppo": Sb3PpoSettings(**FAST, num_envs=2, options={"n_steps": 50, "batch_size": 50, "n_epochs": 2}),
    "sac": Sb3SacSettings(**FAST),
    "td3": Sb3Td3Settings(**FAST),
    "ppo, relu and falling": Sb3PpoSettings(
        **FAST, activation="relu", falling=("learning_rate", "clip_range"), options={"n_steps": 50, "clip_range": 0.2}
    ),
    "sac, gSDE": Sb3SacSettings(**FAST, learning_rate=0.01, options={"use_sde": True, "learning_starts": 5}),
    "td3, correlated": Sb3Td3Settings(**FAST, noise_kind="ornstein-uhlenbeck", falling=("learning_rate",)),
}
CLOSE = "def compute_reward(position):\n    return {'close': -position.abs()}\n"
LOST = "def compute_reward(position):\n    return {'x': torch.log(position - position - 1.0)}\n"


def one_slice(folder, settings, task=str(POINT), source=CLOSE):
    spec = SliceSpec(candidate_id="a", seed=0)
    reward = RewardSpec(candidate_id="a", source=source, is_baseline="env_reward" in source)
    job = Sb3Job(task=task, rewards=(reward,), slices=(spec,), settings=settings, folder=str(folder))
    return Sb3Training(load_task(task), job, lambda message: None)


PLAIN = ("ppo", "sac", "td3")  # the others have more to keep


@pytest.mark.parametrize(
    "algorithm", [pytest.param(name, marks=[pytest.mark.slow] if name in PLAIN else []) for name in SETTINGS]
)
def test_a_saved_policy_acts_as_stable_baselines3_does(tmp_path, algorithm):
    training = one_slice(tmp_path, SETTINGS[algorithm])
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
        tmp_path, SETTINGS["ppo"], task, "def compute_reward(pole_angle):\n    return {'up': -pole_angle.abs()}\n"
    )
    assert isinstance(training._env.action_space, gymnasium.spaces.Discrete)
    training.run()
    policy = load_policy(tmp_path / "a-s0.npz")
    observation = torch.randn(50, 4, generator=torch.Generator().manual_seed(0))
    theirs, _ = training._model.predict(training._normalised.normalize_obs(observation.numpy()), deterministic=True)
    assert policy.act(observation).argmax(1).tolist() == theirs.tolist()


class SameStarts(gymnasium.Wrapper):
    """Begins episodes as ours begin, and takes actions in the same units."""

    def __init__(self, id, index):
        env = gymnasium.make(id)
        box = isinstance(env.action_space, gymnasium.spaces.Box)
        super().__init__(gymnasium.wrappers.RescaleAction(env, -1.0, 1.0) if box else env)
        self.index, self.begun = index, 0

    def reset(self, *, seed=None, options=None):
        self.begun += 1
        return self.env.reset(seed=start_seed(derive_seed(0, "training"), self.index, self.begun - 1))


SAME = [
    ("CartPole-v1", "ppo"),
    ("Pendulum-v1", "sac"),
    *(
        pytest.param(*each, marks=pytest.mark.slow)
        for each in (("Reacher-v5", "ppo"), ("MountainCarContinuous-v0", "td3"))
    ),
]


@pytest.mark.parametrize(("id", "algorithm"), SAME)
def test_with_an_environments_own_reward_it_learns_to_the_bit_what_it_learns_by_itself(
    tmp_path, monkeypatch, id, algorithm
):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    options = {} if algorithm == "ppo" else {"env_steps": 60, "options": {"batch_size": 8, "learning_starts": 20}}
    settings = SETTINGS[algorithm].model_copy(update={"evaluation_envs": 1, "evaluation_phases": 1, **options})
    task = lasting_reference(id)
    ours = one_slice(tmp_path, settings, task, baseline_sources(load_task(task))["human"])
    ours.run()
    alone = DummyVecEnv([partial(SameStarts, id, index) for index in range(settings.num_envs)])
    alone = VecNormalize(alone, gamma=settings.discount) if algorithm == "ppo" else alone
    theirs = learner(settings, alone, derive_seed(0, "learner")).learn(settings.env_steps).policy.state_dict()
    # MuJoCo observes with 64 bits, of which ours keeps 32.
    off = 1e-3 if id == "Reacher-v5" else 0.0
    for name, value in ours._model.policy.state_dict().items():
        torch.testing.assert_close(value, theirs[name], atol=off, rtol=off)


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
    alone = one_slice(tmp_path / "alone", SETTINGS["ppo"]).run()
    assert found["a"].curve == alone.curve
    assert found["a"].final_fitness is not None  # by the clean worker, from the policy's file


@pytest.mark.parametrize(("agents", "env_steps"), [(3, 2_400), (5, 300_000)])
def test_whole_rollouts_of_a_game_that_adds_envs_are_no_more_steps_than_allowed(agents, env_steps):
    settings = Sb3PpoSettings(env_steps=env_steps)
    rollout = -(-settings.num_envs // agents) * agents * settings.options["n_steps"]
    assert -(-env_steps // rollout) * rollout <= settings.max_env_steps


@pytest.mark.slow
def test_every_slice_of_a_worker_learns_from_a_buffer_of_its_own_steps_and_its_own_reward(tmp_path):
    far = CLOSE.replace("-position.abs()", "position.abs()")
    rewards = tuple(RewardSpec(candidate_id=id, source=source) for id, source in (("far", far), ("a", CLOSE)))
    slices = tuple(SliceSpec(candidate_id=each.candidate_id, seed=0) for each in rewards)
    short = SETTINGS["sac"].model_copy(update={"env_steps": 100, "evaluation_phases": 1, "options": {"batch_size": 8}})
    job = Sb3Job(task=str(POINT), rewards=rewards, slices=slices, settings=short, folder=str(tmp_path / "both"))
    both = train_sb3_job(job.model_dump(mode="json"), lambda message: None)["slices"]
    alone = one_slice(tmp_path / "alone", short)
    result = alone.run().model_dump(mode="json")
    assert {**both[1], "wall_s": 0} == {**result, "wall_s": 0}
    kept = alone._model.replay_buffer
    assert kept.size() == 100 == kept.buffer_size and kept.rewards[:100].max() <= 0


def test_stable_baselines3_takes_the_settings_of_the_zoo(tmp_path):
    for algorithm, name in ((algorithm, name) for algorithm, rows in _zoo().items() for name in rows):
        settings = TRAINERS.get(f"sb3-{algorithm}").settings.model_validate(tuned(algorithm, name))
        assert settings.env_steps <= type(settings).model_fields["env_steps"].default and name in settings.origin
        if name in ("CartPole-v1", "MountainCarContinuous-v0", "BipedalWalkerHardcore-v3"):  # every kind of setting
            model = one_slice(tmp_path, settings.model_copy(update={"env_steps": 1000}))._model
            assert model.gamma == settings.discount and model.lr_schedule(1.0) == settings.learning_rate
            assert not settings.falling or model.lr_schedule(0.0) == 0.0


def test_a_known_environment_has_the_zoos_settings_where_its_task_gives_none(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    own = tmp_path / "own.py"
    own.write_text(
        "from rewardgen import GymTask\nfrom rewardgen.training.sb3.settings import Sb3PpoSettings\n"
        "class Own(GymTask):\n    env = 'Pendulum-v1'\n    training = {'sb3-ppo': Sb3PpoSettings(num_envs=3)}\n"
    )
    known, given = get_or_measure(lasting_reference("Pendulum-v1")), get_or_measure(lasting_reference(str(own)))
    assert settings_for("sb3-ppo", known).options["n_steps"] == 1024
    assert "RL Baselines3 Zoo for Pendulum-v1" in card_for("sb3-ppo", known).learner_notes
    assert settings_for("sb3-ppo", known, 5000).env_steps == 5000
    assert settings_for("sb3-ppo", given) == Sb3PpoSettings(num_envs=3)
    assert tuned("ppo", "gymnasium:Hopper-v5") == tuned("ppo", "Hopper-v4") and not tuned("sac", "CartPole-v1")
