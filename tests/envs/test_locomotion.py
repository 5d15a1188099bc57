"""Fitness and success of the locomotion tasks on made-up episodes, and the meaning of their variables."""

import pytest
import torch

from rewardgen.sim.episodes import Episode
from rewardgen.tasks.fitness import measure_episodes
from rewardgen.tasks.loading import load_task

LEGGED = ("hopper", "walker2d", "ant", "humanoid")


def episode(speed, lengths, terminated):
    steps = torch.full((1000, len(lengths)), speed)
    values = {"x_velocity": steps, "upright": torch.ones_like(steps)}
    return Episode(values, torch.tensor(lengths), torch.tensor(terminated), 0.01, 1000)


@pytest.mark.parametrize("name", LEGGED)
def test_only_moving_forward_to_the_end_is_a_success(name):
    task = load_task(name)
    lived = [1000, 500, 1000]
    assert measure_episodes(task, episode(2.5, lived, [False, True, True]))[1].tolist() == [True, False, False]
    assert not measure_episodes(task, episode(0.0, lived, [False, True, False]))[1].any()
    assert not measure_episodes(task, episode(-2.5, lived, [False, True, False]))[1].any()


@pytest.mark.parametrize("name", [*LEGGED, "half_cheetah"])
def test_fitness_is_the_mean_speed_with_time_after_a_fall_as_zero(name):
    fitness = measure_episodes(load_task(name), episode(2.0, [1000, 250], [False, True])).fitness
    torch.testing.assert_close(fitness, torch.tensor([2.0, 0.5], dtype=torch.float64))


def test_a_cheetah_on_its_back_is_no_success():
    made = episode(5.0, [1000, 1000], [False, False])
    made["upright"][:, 1] = -1.0
    assert measure_episodes(load_task("half_cheetah"), made)[1].tolist() == [True, False]


def test_leaning_forward_is_a_positive_pitch():
    for name, nose in (("hopper", "torso_geom"), ("walker2d", "torso_geom")):
        envs = load_task(name).make_envs([0], 1)
        envs.reset()
        qpos = envs.view.qpos0[None].clone()
        qpos[:, 2] = 0.15
        envs.place(qpos, torch.zeros(1, envs.view.model.nv, dtype=torch.float64))
        top = envs.view.field("geom_xmat")[0, envs.view.geom(nose)].view(3, 3)[:, 2]
        assert top[0] > 0.1


def test_feet_touch_the_ground_while_standing_and_carry_the_weight():
    envs = load_task("humanoid").make_envs([0], 1)
    envs.reset()
    for _ in range(12):
        step = envs.step(torch.zeros(1, 17))
    assert step.inputs["foot_clearance"].abs().max() < 0.02
    assert 100.0 < float(step.inputs["foot_force"].sum()) < 2000.0
