"""The shipped tasks on Gymnasium's and Meta-World's environments: sound, and solved by somebody who knows how."""

import warnings

import gymnasium
import numpy as np
import pytest
import torch

from rewardgen.core.config import RunConfig
from rewardgen.core.errors import TaskError
from rewardgen.search.forecast import forecast
from rewardgen.sim.episodes import record_episodes
from rewardgen.tasks.check import check_task
from rewardgen.tasks.fitness import measure_episodes
from rewardgen.tasks.loading import load_task

META_WORLD = {
    "window_open": "SawyerWindowOpenV3Policy",
    "drawer_open": "SawyerDrawerOpenV3Policy",
    "door_close": "SawyerDoorCloseV3Policy",
    "button_press": "SawyerButtonPressV3Policy",
    "sweep_into": "SawyerSweepIntoV3Policy",
}


def played(task, act, num_envs=2):
    """Episodes of a policy that is a function of one observation, and their measures."""
    envs = task.make_envs([1], num_envs)
    low, high = envs.action_low, envs.action_high

    def policy(seen):
        return torch.stack([torch.as_tensor(np.asarray(act(each.numpy()), np.float32)) for each in seen]).clamp(
            low, high
        )

    recording = record_episodes(envs, policy)
    return recording.episode, measure_episodes(task, recording.episode)


def with_the_velocity(seen):
    return [np.sign(seen[1]) or 1.0]


def landing(seen):
    """Gymnasium's own heuristic."""
    from gymnasium.envs.box2d.lunar_lander import heuristic

    env = gymnasium.make("LunarLander-v3", continuous=True)
    return heuristic(env.unwrapped, seen)


@pytest.mark.parametrize(
    "name",
    [
        "lunar_lander",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("mountain_car_continuous", "bipedal_walker")),
    ],
)
def test_a_shipped_task_is_sound_and_doing_nothing_solves_nothing(name):
    pytest.importorskip("Box2D", reason="needs the extra box2d")
    task = load_task(name)
    checked = check_task(task)
    assert checked.problems == []
    assert task.solved_fitness and all(each["fitness"] < task.solved_fitness for each in checked.measured["probes"])


@pytest.mark.parametrize(("name", "act"), [("mountain_car_continuous", with_the_velocity), ("lunar_lander", landing)])
def test_what_is_known_to_solve_a_task_does(name, act):
    pytest.importorskip("Box2D", reason="needs the extra box2d")
    task = load_task(name)
    _, measured = played(task, act, 4)
    assert measured.success.float().mean() >= 0.75
    assert measured.fitness[measured.success].min() >= task.solved_fitness


def test_the_way_of_the_bipedal_walker_is_that_of_its_hull():
    pytest.importorskip("Box2D", reason="needs the extra box2d")
    task = load_task("bipedal_walker")
    envs = task.make_envs([0], 1)
    envs.reset()
    hull, way = envs._envs[0].unwrapped.hull, 0.0
    start, speeds = hull.position.x, []
    for number in range(32):
        step = envs.step(torch.tensor([[1.0, -1.0, -1.0, 1.0]]) * (-1) ** (number // 8))
        way += float(step.inputs["x_velocity"]) * envs.control_step_s
        speeds.append(float(step.inputs["y_velocity"]) - hull.linearVelocity.y)
    assert way == pytest.approx(hull.position.x - start, abs=0.05) and abs(way) > 0.1
    assert np.abs(speeds).max() < 1e-3


@pytest.mark.metaworld
@pytest.mark.parametrize("name", META_WORLD)
def test_meta_worlds_own_policies_solve_its_tasks_and_goals_vary(name):
    policies = pytest.importorskip("metaworld.policies", reason="needs the extra metaworld")
    task, expert = load_task(name), getattr(policies, META_WORLD[name])()
    type(task).episode_steps = 120
    with warnings.catch_warnings(action="ignore"):
        episode, measured = played(task, lambda seen: expert.get_action(seen.astype(float)))
    assert measured.success.all() and measured.fitness.min() > 0.7
    assert set(episode["object_to_goal"][0].shape) == {2}
    starts = torch.cat((episode["object"][0], episode["goal"][0]), 1)
    assert not torch.allclose(starts[0], starts[1])
    _, idle = played(task, lambda seen: [0.0, 0.0, 0.0, 0.0])
    assert not idle.success.any() and idle.fitness.abs().max() < 0.3


@pytest.mark.metaworld
def test_a_shipped_task_of_meta_world_is_sound_and_its_episodes_come_again():
    pytest.importorskip("metaworld", reason="needs the extra metaworld")
    task = load_task("door_close")
    type(task).episode_steps = 40
    assert check_task(task).problems == []
    envs = task.make_envs([3], 2)
    first = envs.reset()
    envs.step(torch.ones(2, 4))
    assert torch.equal(envs.reset(anew=True), first) and not torch.equal(first[0], first[1])


def test_without_meta_world_its_tasks_say_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "metaworld", None)
    with pytest.raises(TaskError) as error:
        load_task("sweep_into").known()
    assert "Meta-World is not installed" in error.value.message and "[metaworld]" in error.value.hint


def test_a_run_trains_with_what_its_task_has_settings_for():
    asked = RunConfig(task="mountain_car_continuous", candidates=1, seeds=1, generations=1)
    found = forecast(asked, measured=False)
    assert found.env_steps.low == found.trainings.low * 20_000
    other = forecast(asked.model_copy(update={"trainer": "ppo"}), measured=False)
    assert other.env_steps.low == other.trainings.low * 300_000
