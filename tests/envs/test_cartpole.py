import math

import torch

from rewardgen.sim.episodes import Episode, record_episodes
from rewardgen.tasks.fitness import measure_episodes
from rewardgen.tasks.loading import load_task


def placed(position, angle, velocity=(0.0, 0.0), num_envs=1):
    made = load_task("cartpole").make_envs([0], num_envs)
    made.place(torch.tensor([[position, angle]] * num_envs).double(), torch.tensor([velocity] * num_envs).double())
    return made


def test_episodes_begin_hanging_near_the_middle():
    envs = load_task("cartpole").make_envs([0], 200)
    envs.reset()
    step = envs.step(torch.zeros(200, 1))
    assert (step.inputs["pole_upright"] < -0.98).all()
    assert step.inputs["cart_position"].abs().max() < 0.25
    assert step.inputs["pole_angle"].min() < -3.0 and step.inputs["pole_angle"].max() > 3.0


def test_a_leaning_pole_falls_to_the_side_of_its_sign():
    for sign in (-1.0, 1.0):
        envs = placed(0.0, sign * 0.1)
        for _ in range(5):
            step = envs.step(torch.zeros(1, 1))
        assert sign * float(step.inputs["pole_angle"]) > 0.1
        assert sign * float(step.inputs["pole_velocity"]) > 0.0


def test_a_positive_action_pushes_the_cart_to_positive_x_and_the_stop_holds_it():
    envs = placed(0.0, math.pi)
    first = envs.step(torch.ones(1, 1))
    assert float(first.inputs["cart_velocity"]) > 0.2
    for _ in range(60):
        step = envs.step(torch.ones(1, 1))
    assert 1.7 < float(step.inputs["cart_position"]) < 1.95
    assert not step.terminated.any()


def test_energy_does_not_grow_without_action():
    envs = placed(0.0, 0.05)
    speeds = [float(envs.step(torch.zeros(1, 1)).inputs["pole_velocity"].abs()) for _ in range(240)]
    assert max(speeds[120:]) <= max(speeds[:120]) + 1e-3


def swing_up(observation):
    """Pump energy into the pole, then balance it (Astrom and Furuta, 2000)."""
    sine, position, cosine, cart_velocity, velocity = observation.unbind(1)
    energy = 0.5 * velocity.square() * 0.55 / 9.81 + cosine - 1.0
    pump = 6.0 * energy * torch.sign(velocity * cosine) - 0.15 * position - 0.1 * cart_velocity
    balance = 4.0 * sine + 0.8 * velocity + 0.25 * position + 0.45 * cart_velocity
    return torch.where((cosine > 0.85) & (velocity.abs() < 4.0), balance, pump)[:, None]


def test_it_can_be_solved_and_fitness_and_success_see_that():
    task = load_task("cartpole")
    fitness, success, _ = measure_episodes(task, record_episodes(task.make_envs([3], 32), swing_up).episode)
    assert success.double().mean() > 0.6
    assert fitness[success].mean() > 0.4


def test_spinning_through_the_top_is_no_success():
    task = load_task("cartpole")
    angle = torch.linspace(0, 60, 250).expand(2, -1).T
    still = torch.zeros(250, 2)
    values = {"pole_upright": angle.cos(), "cart_position": still}
    fitness, success, _ = measure_episodes(
        task, Episode(values, torch.tensor([250, 250]), torch.zeros(2) > 0, 0.04, 250)
    )
    assert not success.any() and (fitness < 0.2).all()
