from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from rewardgen.core.errors import TaskError
from rewardgen.sim.mujoco_env import MujocoVecEnv
from rewardgen.sim.vec_env import DIVERGED
from rewardgen.tasks.fitness import measure_episodes
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.protocol import EpisodeMeasures
from tests.tasks.files import POINT, point


def trace(envs, first, count, steps=150):
    """Observations of some envs under actions that depend on their place among those."""
    generator = torch.Generator().manual_seed(0)
    seen = [envs.reset()[first : first + count]]
    for _ in range(steps):
        action = torch.zeros(envs.num_envs, envs.action_size)
        action[first : first + count] = 2 * torch.rand(count, envs.action_size, generator=generator) - 1
        seen.append(envs.step(action).observation[first : first + count])
    return seen


@pytest.mark.parametrize("task", ["hopper", "ball_in_cup", str(POINT)])
def test_a_slice_is_the_same_alone_and_among_others(task):
    alone = trace(load_task(task).make_envs([8], 3), 0, 3)
    with_others = load_task(task)
    among = trace(MujocoVecEnv(with_others, with_others.make_simulator(9, threads=2), [5, 8, 2]), 3, 3)
    assert all(torch.equal(one, other) for one, other in zip(alone, among, strict=True))


def test_previous_inputs_are_the_last_steps_and_equal_the_current_on_an_episodes_first_step():
    envs = load_task(str(POINT)).make_envs([0], 4)
    envs.reset()
    before = None
    generator = torch.Generator().manual_seed(0)
    for number in range(130):
        step = envs.step(torch.rand(4, 1, generator=generator) * 2 - 1)
        first = step.episode_step == 1
        assert bool(first.all()) == (number % 60 == 0)
        for name in ("position", "velocity", "action"):
            previous = step.inputs[name] if before is None else before[name]
            expected = torch.where(first.view(-1, *[1] * (previous.dim() - 1)), step.inputs[name], previous)
            assert torch.equal(step.inputs[f"prev_{name}"], expected)
        before = {name: value.clone() for name, value in step.inputs.items()}


def test_the_time_limit_truncates_and_the_next_episode_begins(tmp_path):
    envs = load_task(str(POINT)).make_envs([0], 3)
    envs.reset()
    for _ in range(59):
        step = envs.step(torch.zeros(3, 1))
        assert not (step.truncated | step.terminated).any()
        assert torch.equal(step.observation, step.final_observation)
    step = envs.step(torch.zeros(3, 1))
    assert step.truncated.all() and not step.terminated.any()
    assert step.episode_step.tolist() == [60, 60, 60]
    assert not torch.equal(step.observation, step.final_observation)
    torch.testing.assert_close(step.final_observation[:, 0], step.inputs["position"])
    assert envs.step(torch.zeros(3, 1)).episode_step.tolist() == [1, 1, 1]


def test_a_termination_condition_ends_only_its_own_env():
    envs = load_task(str(POINT)).make_envs([0], 3)
    envs.reset()
    position = torch.tensor([[0.0], [1.9], [0.0]], dtype=torch.float64)
    envs.place(position, torch.zeros(3, 1, dtype=torch.float64))
    step = envs.step(torch.ones(3, 1))
    assert step.terminated.tolist() == [False, True, False]
    assert step.causes["left the rail"].tolist() == [False, True, False]
    assert not step.truncated.any()
    following = envs.step(torch.zeros(3, 1))
    assert following.episode_step.tolist() == [2, 1, 2]


def test_a_termination_at_the_time_limit_is_no_truncation():
    task = load_task(str(POINT))
    task.episode_steps = 1
    envs = task.make_envs([0], 2)
    envs.place(torch.tensor([[1.95], [0.0]]).double(), torch.zeros(2, 1).double())
    step = envs.step(torch.zeros(2, 1))
    assert step.terminated.tolist() == [True, False]
    assert step.truncated.tolist() == [False, True]


def test_an_episode_after_an_automatic_reset_is_the_one_after_a_reset():
    envs, other = (load_task("ant").make_envs([0], 3) for _ in range(2))
    envs.reset(), other.reset()
    qpos, qvel = envs.view.qpos.clone(), envs.view.qvel.clone()
    qpos[1, :3] = torch.tensor([5.0, 5.0, 0.3])
    qvel[1, 2] = -40.0
    envs.place(qpos, qvel)
    step = envs.step(torch.zeros(3, 8))
    assert step.causes["torso too low"].tolist() == [False, True, False]
    assert float(step.inputs["contact_load"][1]) > 0
    assert torch.equal(envs.view.before("xpos")[1], envs.view.field("xpos")[1])
    assert torch.equal(step.observation[1], other.reset()[1])
    for _ in range(10):
        step, expected = envs.step(torch.ones(3, 8)), other.step(torch.ones(3, 8))
        assert torch.equal(step.observation[1], expected.observation[1])
        assert all(torch.equal(step.inputs[name][1], expected.inputs[name][1]) for name in step.inputs)


def test_a_diverged_env_ends_with_finite_inputs_and_leaves_the_others_alone():
    envs = load_task("hopper").make_envs([0], 3)
    envs.reset()
    other = load_task("hopper").make_envs([0], 3)
    other.reset()
    velocity = envs.view.qvel.clone()
    velocity[1] = 1e11
    envs.place(envs.view.qpos.clone(), velocity)
    other.place(other.view.qpos.clone(), other.view.qvel.clone())
    step, expected = envs.step(torch.zeros(3, 3)), other.step(torch.zeros(3, 3))
    assert step.causes[DIVERGED].tolist() == [False, True, False]
    assert step.terminated.tolist() == [False, True, False]
    assert all(value.isfinite().all() for value in (*step.inputs.values(), step.observation, step.final_observation))
    assert torch.equal(step.final_observation[::2], expected.final_observation[::2])
    assert envs.step(torch.zeros(3, 3)).observation.isfinite().all()


def test_actions_beyond_their_range_are_clipped():
    envs = load_task(str(POINT)).make_envs([0], 2)
    envs.reset()
    step = envs.step(torch.tensor([[5.0], [-0.5]]))
    assert step.inputs["action"].tolist() == [[1.0], [-0.5]]
    assert envs.view.ctrl.tolist() == [[1.0], [-0.5]]


def test_inputs_of_a_step_keep_their_values_when_the_simulation_goes_on():
    envs = load_task(str(POINT)).make_envs([0], 2)
    envs.reset()
    step = envs.step(torch.ones(2, 1))
    kept = {name: value.clone() for name, value in step.inputs.items()}
    envs.step(-torch.ones(2, 1))
    envs.reset()
    assert all(torch.equal(step.inputs[name], value) for name, value in kept.items())


@pytest.mark.parametrize(
    ("change", "message", "hint"),
    [
        (("sim.qvel[:, 0]", 'sim.field("qvle")[:, 0]'), "no data field `qvle`", "`qvel`"),
        (("sim.qvel[:, 0]", 'sim.sensor("gyro")[:, 0]'), "no sensor `gyro`", ""),
        (("sim.qvel[:, 0]", 'sim.field("cfrc_ext")[:, 1, 0]'), "`cfrc_ext`", "needs_contact_forces = True"),
        (('"point.xml"', '"gymnasium:hoper.xml"'), "no model `hoper.xml`", "`hopper.xml`"),
        (("draw.uniform(-0.01, 0.01, 1)", "torch.zeros(1)"), "`reset`, velocities, has shape (1,)", ""),
    ],
)
def test_a_broken_contract_is_a_task_error_that_says_what_to_do(tmp_path, change, message, hint):
    with pytest.raises(TaskError) as caught:
        load_task(point(tmp_path, change)).make_envs([0], 2)
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_a_field_first_read_in_the_middle_of_an_episode_is_refused(tmp_path):
    late = (
        '        return {"position"',
        "        sim.qpos.any() and self.__dict__.setdefault('n', []).append(1)\n"
        "        if len(self.__dict__.get('n', [])) > 3:\n            sim.before('ctrl')\n        return {\"position\"",
    )
    envs = load_task(point(tmp_path, late)).make_envs([0], 2)
    envs.reset()
    with pytest.raises(TaskError, match="middle of an episode"):
        for _ in range(5):
            envs.step(torch.zeros(2, 1))


def test_nothing_is_logged_to_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    envs = load_task("hopper").make_envs([0], 2)
    envs.reset()
    envs.place(envs.view.qpos.clone(), torch.full((2, 6), 1e11, dtype=torch.float64))
    envs.step(torch.zeros(2, 3))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("task", ["hopper", "ant"])
def test_envs_at_rest_stay_and_the_others_move_as_before(task):
    resting, plain = load_task(task).make_envs([8], 4), load_task(task).make_envs([8], 4)
    asleep = torch.tensor([True, False, False, True])
    generator = torch.Generator().manual_seed(0)
    for envs in (resting, plain):
        envs.reset()
    for number in range(60):
        if number == 5:
            resting.rest(asleep)
            kept = resting.view.qpos[asleep].clone()
        action = 2 * torch.rand(4, plain.action_size, generator=generator) - 1
        one, other = resting.step(action), plain.step(action)
        assert torch.equal(one.observation[~asleep], other.observation[~asleep])
        if number >= 5:
            assert not (one.terminated | one.truncated)[asleep].any()
    assert torch.equal(resting.view.qpos[asleep], kept)
    resting.reset()
    assert not torch.equal(resting.step(action).observation[asleep], one.observation[asleep])


def test_what_a_task_makes_without_saying_where_lies_where_its_envs_are():
    """On a device without numbers, of which there is one everywhere."""
    envs = load_task("cartpole").make_envs([0], 2)
    envs._dynamics = SimpleNamespace(path=envs._dynamics.path, read=lambda view: {"one": torch.ones(2)})
    assert envs.variables_now()["one"].device.type == "cpu"
    envs.device = torch.device("meta")
    assert envs.variables_now()["one"].device.type == "meta"


def test_what_a_fitness_makes_lies_where_its_episodes_are():
    made = []

    class Task:
        path, has_fitness = Path("task.py"), True

        def measured(self, episode):
            made.append(torch.zeros(3).device.type)
            return EpisodeMeasures(torch.zeros(2), torch.zeros(2) > 1, {})

    for device in ("cpu", "meta"):
        measure_episodes(Task(), SimpleNamespace(lengths=torch.ones(2, device=device)))
    assert made == ["cpu", "meta"]
