"""The tasks on models of our own: they can be solved, and what only looks like a solution is none."""

import pytest
import torch

from rewardgen.sim.episodes import Episode, record_episodes
from rewardgen.tasks.fitness import measure_episodes
from rewardgen.tasks.loading import load_task


@pytest.mark.parametrize("name", ["ball_balance", "maze_detour", "push_to_goal", "stack_two"])
def test_a_simple_controller_solves_it(name):
    task = load_task(name)
    envs = task.make_envs([3], 16)
    fitness, success, _ = measure_episodes(task, record_episodes(envs, envs.scripted_policy()).episode)
    assert success.all()
    assert fitness.mean() >= task.solved_fitness


def straight_to_the_goal(observation):
    return 3.0 * observation[:, 4:6] - observation[:, 2:4]


def test_going_straight_to_the_goal_ends_in_the_pocket_of_the_maze():
    task = load_task("maze_detour")
    recorded = record_episodes(task.make_envs([3], 16), straight_to_the_goal).episode
    fitness, success, _ = measure_episodes(task, recorded)
    assert not success.any() and (fitness == 0.0).all()
    assert (recorded.last(recorded["distance"]) < recorded.first(recorded["distance"]) - 0.2).all()


STEPS, STEP_S = 100, 0.02
LATE = torch.arange(STEPS) >= STEPS - 1
"""The last step alone, as where something flies past."""


def steady(*value):
    return torch.tensor(value).expand(STEPS, 1, -1).clone() if len(value) > 1 else torch.full((STEPS, 1), value[0])


def only_late(late, before):
    return torch.where(LATE[:, None], late, before)


def moving(speed):
    return steady(speed, 0.0, 0.0)


SOLVED = {
    "ball_balance": {"distance": steady(0.01), "ball_velocity": moving(0.0)},
    "quadcopter": {"distance": steady(0.05), "velocity": moving(0.0), "upright": steady(1.0)},
    "velocity_tracking": {
        "command": steady(0.5, 0.0),
        "velocity": steady(0.45, 0.0),
        "command_turning": steady(0.3),
        "turning": steady(0.25),
    },
    "push_to_goal": {"distance": steady(0.01), "box_velocity": moving(0.0), "box_upright": steady(1.0)},
    "maze_detour": {"distance": steady(0.1), "velocity": moving(0.0), "position": steady(1.0, 0.0, 0.07)},
    "stack_two": {
        "stack": steady(0.0, 0.0, 0.05),
        "to_upper": steady(0.0, 0.0, -0.1),
        "upper_velocity": moving(0.0),
        "upper_height": steady(0.075),
        "left_touch": steady(0.0),
        "right_touch": steady(0.0),
    },
}


def measured(name, values, ended=False):
    episode = Episode(values, torch.tensor([STEPS]), torch.tensor([ended]), STEP_S, STEPS)
    fitness, success, _ = measure_episodes(load_task(name), episode)
    return float(fitness), bool(success)


@pytest.mark.parametrize("name", SOLVED)
def test_what_solves_it_is_a_success(name):
    assert measured(name, SOLVED[name])[1]


@pytest.mark.parametrize(
    ("name", "what", "values"),
    [
        ("ball_balance", "the ball rolls over the middle", {"distance": only_late(0.0, 0.2)}),
        ("ball_balance", "the ball circles the middle", {"ball_velocity": moving(0.4)}),
        ("quadcopter", "it flies past the mark", {"distance": only_late(0.0, 0.8)}),
        ("quadcopter", "it hangs there on its side", {"upright": steady(0.2)}),
        ("velocity_tracking", "it stands still", {"velocity": steady(0.0, 0.0), "turning": steady(0.0)}),
        ("velocity_tracking", "it walks and turns the other way", {"turning": steady(-0.3)}),
        ("push_to_goal", "the box slides over the goal", {"distance": only_late(0.0, 0.1)}),
        ("push_to_goal", "the box has fallen over", {"box_upright": steady(0.0)}),
        ("maze_detour", "it passes over the goal", {"distance": only_late(0.0, 0.5)}),
        ("stack_two", "the fingers hold it there", {"left_touch": steady(1.0), "right_touch": steady(1.0)}),
        ("stack_two", "it is thrown past", {"stack": torch.where(LATE[:, None, None], steady(0.0, 0.0, 0.05), 0.3)}),
        ("stack_two", "it leans on the lower box", {"stack": steady(0.0, 0.0, 0.057)}),
        ("stack_two", "it is about to slide off", {"stack": steady(0.035, 0.0, 0.05)}),
    ],
)
def test_what_only_looks_like_a_solution_is_none(name, what, values):
    assert not measured(name, SOLVED[name] | values)[1], what


@pytest.mark.parametrize("name", ["ball_balance", "quadcopter", "velocity_tracking", "push_to_goal"])
def test_an_episode_that_was_ended_is_no_success(name):
    assert not measured(name, SOLVED[name], ended=True)[1]


def test_the_command_is_in_the_robots_own_frame():
    envs = load_task("velocity_tracking").make_envs([0], 1)
    envs.reset()
    view = envs.view
    qpos, qvel = view.qpos.clone(), torch.zeros_like(view.qvel)
    quarter = 0.5**0.5
    qpos[:, 3:7] = torch.tensor([quarter, 0.0, 0.0, quarter])  # it looks along +y
    qvel[:, 0], qvel[:, 1], qvel[:, 5] = -0.2, 0.5, 0.7
    envs.place(qpos, qvel)
    now = envs.variables_now()
    torch.testing.assert_close(now["velocity"], torch.tensor([[0.5, 0.2]]).double())
    torch.testing.assert_close(now["turning"], torch.tensor([0.7]).double())
