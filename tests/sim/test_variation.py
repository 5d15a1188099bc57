"""Physics that episodes draw: what is drawn, for whom, and what it does to the model."""

import copy

import mujoco
import numpy as np
import pytest
import torch

from rewardgen.core.errors import TaskError, UsageError
from rewardgen.core.physics import conditions, parse_ranges, words
from rewardgen.sim.mujoco_cpu import CpuSimulator
from rewardgen.tasks.loading import load_task
from tests.tasks.files import POINT

STEPS = 40


def envs(task="hopper", *texts, seeds=(3,), per_seed=4):
    made = load_task(str(task)).make_envs(seeds, per_seed)
    if texts:
        made.vary(parse_ranges(texts))
    return made


def states(made, steps=STEPS):
    """Positions at each of some steps with one action, (T, N, nq)."""
    made.reset(anew=True)
    push = 0.4 * made.action_high.expand(made.num_envs, -1)
    return torch.stack([(made.step(push), made.view.qpos.clone())[1] for _ in range(steps)])


def by_hand(model, field, factor):
    """Positions of a simulation of the reference pose on a model of which a field was multiplied."""
    changed = copy.copy(model)
    for name in field:
        getattr(changed, name)[:] *= factor
    data = mujoco.MjData(changed)
    mujoco.mj_setConst(changed, data)
    mujoco.mj_resetData(changed, data)
    mujoco.mj_forward(changed, data)
    data.ctrl[:] = 0.5
    for _ in range(4 * STEPS):
        mujoco.mj_step(changed, data)
    return data.qpos


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("mass", ("body_mass", "body_inertia")),
        ("friction", ("geom_friction",)),
        ("damping", ("dof_damping",)),
    ],
)
@pytest.mark.parametrize("persistent", [False, True])
def test_a_factor_changes_the_model_of_its_env_as_one_would_by_hand(name, fields, persistent):
    model = load_task("hopper").make_envs([0], 1).model
    simulator = CpuSimulator(model, 3, 4, current_fields=persistent)
    simulator.field("xpos")
    simulator.vary(torch.tensor([2]), {name: torch.tensor([0.5])})
    simulator.reset(torch.arange(3))
    for _ in range(STEPS):
        simulator.step(torch.full((3, model.nu), 0.5))
    own, half = by_hand(model, fields, 1.0), by_hand(model, fields, 0.5)
    assert not np.allclose(own, half)
    assert np.allclose(simulator.field("qpos"), [own, own, half], rtol=0, atol=1e-12)


def test_gravity_takes_effect_and_is_the_models_own_again_at_a_factor_of_1():
    made = envs("hopper", "gravity=0.5")
    heights = states(made, 3)[-1, :, 1]
    assert (heights > states(envs(), 3)[-1, :, 1]).all()
    made.vary(parse_ranges(["gravity=1"]))
    assert torch.equal(states(made), states(envs()))


def test_an_episodes_physics_depend_on_its_seed_and_index_alone():
    ranges = ("friction=0.5:1.5", "mass=0.8:1.2", "delay=0:2")
    together = states(envs("hopper", *ranges, seeds=(3, 8), per_seed=4))
    assert torch.equal(together[:, 4:], states(envs("hopper", *ranges, seeds=(8,), per_seed=4)))
    made = envs("hopper", *ranges)
    assert torch.equal(states(made), states(made))
    assert not torch.equal(states(made)[:5], states(envs())[:5])


def test_a_parameter_draws_the_same_whichever_others_vary_and_starts_stay_the_same():
    one, more = envs("hopper", "mass=0.5:2"), envs("hopper", "friction=1", "mass=0.5:2", "gravity=1")
    assert torch.equal(states(one), states(more))
    assert torch.equal(one.reset(anew=True), envs().reset(anew=True))


def test_each_episode_draws_anew():
    made = envs(POINT, "mass=0.1:10")
    masses = set()
    for _ in range(5):
        made.reset()
        masses |= set(made._simulator._batch.expand("body_mass")[:, -1].tolist())
    assert len(masses) == 20
    assert all(0.1 * made.model.body_mass[-1] <= mass <= 10 * made.model.body_mass[-1] for mass in masses)


def test_a_delayed_action_takes_effect_later_and_rewards_read_the_policys():
    late, now = envs(POINT, "delay=2"), envs(POINT)
    for made in (late, now):
        made.reset(anew=True)
    push = torch.ones(4, 1)
    nothing = torch.zeros(4, 1)
    for step in range(6):
        delayed = late.step(push)
        plain = now.step(nothing if step < 2 else push)
        assert torch.equal(late.view.qpos, now.view.qpos)
        assert torch.equal(delayed.inputs["action"], push)
        assert torch.equal(plain.inputs["action"], push if step >= 2 else nothing)


def test_an_episode_begins_without_the_actions_of_the_one_before():
    late, fresh = envs(POINT, "delay=2"), envs(POINT, "delay=2")
    late.reset()
    for _ in range(3):
        late.step(torch.ones(4, 1))
    late.reset(anew=True)
    fresh.reset(anew=True)
    late.step(torch.ones(4, 1))
    fresh.step(torch.ones(4, 1))
    assert torch.equal(late.view.qpos, fresh.view.qpos)


def test_whole_numbers_of_control_steps_are_drawn_alike_often():
    made = envs(POINT, "delay=0:2", per_seed=3000)
    made.reset()
    counts = made._variation._delay.bincount()
    assert counts.tolist() == pytest.approx([1000] * 3, rel=0.15)


def test_envs_that_cannot_change_their_physics_say_so():
    with pytest.raises(TaskError, match="cannot change") as error:
        load_task("CartPole-v1").make_envs([0], 1).vary(parse_ranges(["mass=2"]))
    assert "MuJoCo model" in error.value.hint


def test_values_are_measured_one_at_a_time_then_together_without_the_models_own():
    texts = conditions(parse_ranges(["delay=0:2", "friction=0.5:1.5"]))
    assert texts == [
        (),
        ("friction=0.5",),
        ("friction=0.75",),
        ("friction=1.25",),
        ("friction=1.5",),
        ("delay=1",),
        ("delay=2",),
        ("friction=0.5:1.5", "delay=0:2"),
    ]
    assert words(texts[-1]) == "friction 0.5:1.5, delay 0:2"
    assert conditions({}) == [()]
    assert conditions(parse_ranges("mass=2")) == [(), ("mass=2",)], "one range may stand alone"


NO_RANGES = ("friction", "friction=", "friction=2:1", "friction=0:1", "friction=0.5:1:2", "mass=a:b", "mass=nan")


@pytest.mark.parametrize("text", [*NO_RANGES, "delay=0.5", "delay=-1:2"])
def test_a_range_that_is_none_is_refused_with_how_to_write_one(text):
    with pytest.raises(UsageError, match="is no range") as error:
        parse_ranges([text])
    assert "LOW:HIGH" in error.value.hint


def test_an_unknown_parameter_and_a_second_range_are_refused():
    with pytest.raises(UsageError, match="no parameter `fricton`") as error:
        parse_ranges(["fricton=1:2"])
    assert "friction" in error.value.hint
    with pytest.raises(UsageError, match="two ranges"):
        parse_ranges(["mass=1:2", "mass=2:3"])
