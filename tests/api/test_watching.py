"""A training of one's own is watched, without a search."""

import json

import gymnasium
import numpy as np
import pytest
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize

import rewardgen
from rewardgen import watch
from rewardgen.core.errors import UsageError
from rewardgen.reward.contract import RewardError
from tests.e2e.command import POINT

LENGTH = 10
GAIN = """
def compute_reward(position, prev_position, action):
    return {"gain": prev_position - position, "push": action[:, 0]}
"""


class Scripted(gymnasium.Env):
    """Episodes of ten steps, whose pay and place depend on how many episodes there were."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def __init__(self, pay, place, extra=0.0, ends=False, success=None):
        self.pay, self.place, self.extra, self.ends, self.success = pay, place, extra, ends, success
        self.episode = -1

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.episode, self.step_of_episode = self.episode + 1, 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.step_of_episode += 1
        noise = ((7 * self.episode + 3 * self.step_of_episode) % 11 - 5) / 50
        parts = {"progress": self.pay(self.episode) + noise, "never": 0.0}
        over = self.step_of_episode == LENGTH
        info = {"parts": parts, "place": self.place(self.episode) + noise}
        if over and self.success is not None:
            info["is_success"] = self.success
        reward = sum(parts.values()) + self.extra
        return np.zeros(1, np.float32), reward, over and self.ends, over and not self.ends, info


class TransformInfo(gymnasium.Wrapper):
    def __init__(self, env, change):
        super().__init__(env)
        self.change = change

    def step(self, action):
        *found, info = super().step(action)
        return *found, self.change(info)


def played(watching, env, episodes=100):
    """Play episodes at random in a watched env, and close it."""
    watched = watching.wrap(env)
    for _ in range(episodes):
        watched.reset()
        over = False
        while not over:
            *_, terminated, truncated, _ = watched.step(np.zeros(env.action_space.shape, np.float32))
            over = terminated or truncated
    watched.close()
    return {one.detector for one in watching.flags()}


def rising(episode):
    return episode / 100


def still(episode):
    return 0.5


def test_a_component_that_never_pays_is_warned_of_as_training_goes_on(capsys):
    watching = watch("parts", every=100)
    assert "bonus-never-fired" in played(watching, Scripted(rising, still))
    shown = capsys.readouterr()
    assert shown.err.count("`never` never fired") == 1
    step, first = watching.warnings[0]
    assert (step, first.component) == (300, "never")
    assert "progress" in shown.out
    assert "fitness: unknown" in shown.out


def test_a_return_that_rises_without_the_metric_raises_the_alarm():
    assert "return-up-fitness-flat" in played(watch("parts", metric="place", every=100), Scripted(rising, still))


def test_a_return_that_rises_with_the_metric_raises_no_alarm():
    found = played(watch("parts", metric="place", every=100), Scripted(rising, rising))
    assert found.isdisjoint({"return-up-fitness-flat", "reward-up-fitness-down"})


def test_a_metric_that_falls_while_the_return_rises_raises_the_analyzers_alarm_alone():
    found = played(watch("parts", metric="place", every=100), Scripted(rising, lambda episode: -rising(episode)))
    assert "reward-up-fitness-down" in found
    assert "return-up-fitness-flat" not in found


def test_without_a_metric_the_fitness_in_info_is_it_before_success(capsys):
    env = TransformInfo(Scripted(rising, still, success=False), lambda info: info | {"fitness": info["place"]})
    assert "return-up-fitness-flat" in played(watch("parts", every=100), env)
    env = TransformInfo(Scripted(rising, rising, success=False), lambda info: info | {"fitness": info["place"]})
    assert "return-up-fitness-flat" not in played(watch("parts", every=100), env)
    assert "fitness, `fitness`: " in capsys.readouterr().out


def test_without_a_metric_success_is_the_fitness():
    assert "return-up-fitness-flat" in played(watch("parts", every=100), Scripted(rising, still, success=False))


def test_early_ends_are_faults_only_if_they_are_failures():
    env = {"pay": lambda episode: -1 - rising(episode), "place": still, "ends": True}
    assert "early-ending-pays" not in played(watch("parts", every=100), Scripted(**env))
    assert "early-ending-pays" in played(watch("parts", every=100, ends_are_failures=True), Scripted(**env))
    assert "early-ending-pays" in played(watch("parts", every=100), Scripted(**env, success=False))
    assert "early-ending-pays" not in played(watch("parts", every=100), Scripted(**env, success=True))


def test_pay_that_no_component_names_is_shown_as_the_residual():
    watching = watch("parts", every=100)
    played(watching, Scripted(rising, still, extra=2.0))
    assert watching.curves.components["residual"][-1].mean == pytest.approx(2.0)
    watching = watch("parts", every=100)
    played(watching, Scripted(rising, still))
    assert "residual" not in watching.curves.components


def test_a_reward_of_ours_is_computed_from_the_variables_in_info():
    env = rewardgen.make_env(POINT, reward=GAIN)
    paid, computed = watch("components", every=400), watch(reward=rewardgen.Reward(GAIN), every=400)
    played(paid, computed.wrap(env), 10)
    assert paid.curves == computed.curves
    assert paid.curves.components.keys() == {"gain", "push"}


def test_an_episode_that_is_reset_before_its_end_does_not_count():
    watching = watch("parts", every=100)
    env = watching.wrap(Scripted(rising, still))
    env.reset()
    env.step(np.zeros(1, np.float32))
    for _ in range(20):
        env.reset()
        for _ in range(LENGTH):
            env.step(np.zeros(1, np.float32))
    assert {point.episode_steps for point in watching.curves.curve} == {LENGTH}


def test_curves_flags_and_warnings_are_kept_in_a_file(tmp_path):
    watching = watch("parts", metric="place", every=100, file=tmp_path / "watched.json")
    played(watching, Scripted(rising, still))
    kept = json.loads((tmp_path / "watched.json").read_text())
    assert kept["env_steps"] == 1000
    assert len(kept["curves"]["components"]["progress"]) == 10
    assert "return-up-fitness-flat" in {one["detector"] for one in kept["flags"]}
    assert kept["warnings"][0]["env_steps"] == 300


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"components": "prats"}, "no `prats`"),
        ({"components": "parts", "metric": "palce"}, "no `palce`"),
        ({"reward": rewardgen.Reward(GAIN)}, "no `prev_position`|no `position`"),
    ],
)
def test_an_entry_that_info_lacks_is_named_at_once(options, told):
    with pytest.raises(UsageError, match=told):
        played(watch(**options), Scripted(rising, still), 1)


def test_a_component_that_is_not_finite_ends_the_training_with_its_name():
    with pytest.raises(RewardError, match="`progress` is nan"):
        played(watch("parts"), Scripted(lambda episode: np.nan, still), 1)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "either"),
        ({"components": "a", "reward": rewardgen.Reward(GAIN)}, "either"),
    ],
)
def test_a_watch_that_can_see_nothing_is_refused(options, told):
    with pytest.raises(UsageError, match=told):
        watch(**options)


def test_too_few_episodes_are_said_so(capsys):
    played(watch("parts"), Scripted(rising, still), 3)
    assert "3 episodes ended, and 8 are needed" in capsys.readouterr().err


def test_the_return_is_what_the_env_paid_not_what_was_normalised():
    envs = VecNormalize(make_vec_env(lambda: Scripted(lambda episode: 5.0, still), 2))
    watching = watch("parts", every=100)
    PPO("MlpPolicy", envs, n_steps=100, batch_size=50, n_epochs=1, device="cpu").learn(200, callback=watching)
    assert "residual" not in watching.curves.components
    assert watching.curves.curve[-1].episode_return == pytest.approx(50.0, abs=1.0)


def test_a_second_training_does_not_lengthen_the_episodes_that_the_first_left():
    watching = watch("parts", every=20)
    model = PPO("MlpPolicy", Scripted(lambda episode: 5.0, still), n_steps=25, batch_size=25, n_epochs=1, device="cpu")
    for _ in range(2):
        model.learn(125, callback=watching)  # ends in the middle of an episode
    assert {point.episode_steps for point in watching.curves.curve} == {LENGTH}


def test_each_training_has_its_own_curves_and_windows():
    watching = watch("parts")
    for steps in (200, 2000):
        model = PPO("MlpPolicy", Scripted(rising, still), n_steps=50, batch_size=50, n_epochs=1, device="cpu")
        model.learn(steps, callback=watching)
    points = [point.env_steps for point in watching.curves.curve]
    assert points[0] == 100 and points[-1] == 2000 and len(points) == 20


def test_the_curve_of_a_watch_has_the_spread_of_its_episodes():
    watching = watch("parts")
    played(watching, Scripted(rising, still))
    assert any(point.return_spread > 0.0 for point in watching.curves.curve)
