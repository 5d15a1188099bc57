"""What an episode begins with: goals that `reset` draws, mocap bodies that are goals, the state at its start."""

import math

import mujoco
import numpy as np
import pytest
import torch

from rewardgen import Body, Distance, Geom, MujocoTask, Var
from rewardgen.core.errors import TaskError
from rewardgen.sim import sim_view
from rewardgen.sim.episodes import Episode
from rewardgen.sim.sim_view import SimView

MODEL = """
<mujoco><option timestep="0.01" gravity="0 0 0"/>
<worldbody>
  <body name="cart"><joint name="rail" type="slide" axis="1 0 0"/><geom size=".1" mass="1"/></body>
  <body name="mark" mocap="true" pos="0 0 1"><geom size=".05" contype="0" conaffinity="0"/></body>
</worldbody>
<actuator><motor joint="rail" gear="5" ctrlrange="-1 1" ctrllimited="true"/></actuator></mujoco>
"""


class Carting(MujocoTask):
    """Bring the cart below the mark, at the speed that is asked for."""

    model = "model.xml"
    episode_steps = 20
    mark = Body("mark").position
    distance = Distance("cart", "mark")
    speed = Var("m/s", "speed that is asked for")
    began = Var("m", "where the cart began")

    def reset(self, sim, draw):
        mark = torch.cat((draw.uniform(-2.0, 2.0, 1), torch.zeros(draw.num_envs, 2)), 1)
        qpos = draw.uniform(-1.0, 1.0, 1)
        return qpos, torch.zeros_like(qpos), {"mark": mark, "speed": draw.uniform(0.0, 1.0, 1)[:, 0]}

    def variables(self, sim):
        return {"speed": sim.goal("speed"), "began": sim.start("qpos")[:, 0]}


@pytest.fixture
def carting(tmp_path):
    (tmp_path / "model.xml").write_text(MODEL)
    Carting.path = tmp_path / "task.py"
    return Carting()


def test_a_model_left_to_itself_ends_where_mujoco_has_it_however_many_there_are(carting, monkeypatch):
    monkeypatch.setattr(sim_view, "_MOST_ROLLED", 2)
    envs = carting.make_envs([0], 5)
    envs.view.model.opt.gravity[0] = 1.0  # along the rail
    places = torch.linspace(-1.0, 1.0, 5, dtype=torch.float64)[:, None]
    qpos, qvel = envs.view.settled(places, seconds=0.3)
    for place, *found in zip(places, qpos, qvel, strict=True):
        data = mujoco.MjData(envs.view.model)
        data.qpos[:] = place.numpy()
        mujoco.mj_step(envs.view.model, data, 30)
        assert [each.tolist() for each in found] == [data.qpos.tolist(), data.qvel.tolist()]
    assert bool((qvel > 0.29).all())


def pushed(envs, steps):
    return [envs.step(torch.ones(envs.num_envs, 1)) for _ in range(steps)]


def test_goals_last_an_episode_and_are_drawn_anew_for_the_next(carting):
    envs = carting.make_envs([3], 4)
    envs.reset()
    begun = envs.view.qpos[:, 0].float().clone()
    steps = [each.inputs for each in pushed(envs, 45)]
    for name in ("mark", "speed", "began"):
        values = torch.stack([each[name].reshape(4, -1)[:, 0] for each in steps])
        for episode in (values[1:20], values[20:40]):  # sensors tell of the last substep's beginning
            assert torch.equal(episode, episode[:1].expand_as(episode))
        assert (values[1] != values[20]).all() and len(values[1].unique()) == 4
    assert torch.equal(steps[5]["began"], begun)


def test_the_distance_to_a_mocap_goal_is_that_of_the_episode(carting):
    envs = carting.make_envs([3], 3)
    envs.reset()
    place = envs.view.qpos[:, 0].clone()
    mark = envs.view.goal("mark")[:, 0]
    assert torch.allclose(envs.variables_now()["distance"], (mark - place).abs())
    envs.place(torch.zeros(3, 1).double(), torch.zeros(3, 1).double())
    assert torch.allclose(envs.variables_now()["distance"], mark.abs())
    assert torch.equal(envs.view.start("qpos"), torch.zeros(3, 1).double())


def test_a_diverged_env_keeps_its_goal(carting):
    envs = carting.make_envs([3], 2)
    envs.reset()
    mark = envs.view.goal("mark").clone()
    envs.view.qvel[0] = math.nan
    step = envs.step(torch.zeros(2, 1))
    assert step.terminated.tolist() == [True, False]
    assert torch.allclose(step.inputs["mark"], mark.float())


@pytest.mark.parametrize(
    ("goals", "told"),
    [
        ([1.0], "is list, expected a dict"),
        ({"mark": 1.0}, "goal `mark` of `reset` is float"),
        ({"mark": torch.zeros(7, 3)}, "has shape"),
    ],
)
def test_goals_of_a_wrong_shape_are_refused(carting, goals, told):
    carting.reset = lambda sim, draw: (sim.qpos0.repeat(2, 1), torch.zeros_like(sim.qvel), goals)
    with pytest.raises(TaskError, match=told):
        carting.make_envs([0], 2)


def test_a_goal_that_nobody_drew_is_named(carting):
    carting.variables = lambda sim: {"speed": sim.goal("sped"), "began": sim.start("qpos")[:, 0]}
    with pytest.raises(TaskError, match="there is no goal `sped`") as error:
        carting.make_envs([0], 2)
    assert "speed" in (error.value.hint or "")


SHAPES = """
<mujoco><asset><mesh name="tetra" vertex="0 0 0  .3 0 0  0 .3 0  0 0 .3"/></asset><worldbody>
<body name="ball"><freejoint/><geom name="ball" size=".2"/></body>
<body name="pill"><freejoint/><geom name="pill" type="capsule" size=".1 .3"/></body>
<body name="can"><freejoint/><geom name="can" type="cylinder" size=".1 .3"/></body>
<body name="egg"><freejoint/><geom name="egg" type="ellipsoid" size=".1 .2 .3"/></body>
<body name="box"><freejoint/><geom name="box" type="box" size=".1 .2 .3"/></body>
<body name="rock"><freejoint/><geom name="rock" type="mesh" mesh="tetra"/></body>
<body name="two"><freejoint/><geom size=".1"/><geom name="lower" size=".1" pos="0 0 -.5"/></body>
</worldbody><actuator><motor site="s" ctrlrange="-1 1"/></actuator></mujoco>
""".replace('<body name="ball"><freejoint/>', '<body name="ball"><freejoint/><site name="s"/>')


def test_the_clearance_of_every_shape_is_the_height_at_which_it_touches_the_ground(tmp_path):
    names = ("ball", "pill", "can", "egg", "box", "rock")
    (tmp_path / "model.xml").write_text(SHAPES)
    quantities = {name: Geom(name).clearance for name in names} | {"two": Body("two").clearance}
    kind = type("Shapes", (MujocoTask,), {"model": "model.xml", "path": tmp_path / "task.py", **quantities})
    simulator = kind().make_simulator(16)
    random = np.random.default_rng(0)
    qpos = random.normal(size=(16, 7, 7))
    qpos[..., 3:] /= np.linalg.norm(qpos[..., 3:], axis=2, keepdims=True)
    view = SimView(simulator)
    for quantity in quantities.values():
        quantity.read(view)
    simulator.reset(torch.arange(16), torch.from_numpy(qpos.reshape(16, 49)))
    for name in names:
        # The lowest of very many points on or in the shape, in every env.
        points = random.normal(size=(200_000, 3))
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        geom = view.geom(name)
        surface = points * 0.2
        if name == "egg":
            surface = points * (0.1, 0.2, 0.3)
        if name == "box":
            surface = np.sign(points) * (0.1, 0.2, 0.3)
        if name in ("pill", "can"):
            rim = points[:, :2] / np.linalg.norm(points[:, :2], axis=1, keepdims=True)
            ends = np.concatenate((0.1 * rim, 0.3 * np.sign(points[:, 2:])), axis=1)
            surface = ends if name == "can" else 0.1 * points + (0, 0, 0.3) * np.sign(points)
        if name == "rock":
            surface = view.model.mesh_vert
        rotation = view.field("geom_xmat")[:, geom].reshape(-1, 3, 3).numpy()
        lowest = view.field("geom_xpos")[:, geom, 2].numpy() + (rotation[:, 2] @ surface.T).min(1)
        assert np.allclose(quantities[name].read(view), lowest, atol=2e-3), name
    both = torch.stack([view.clearance(each) for each in ("lower", view.model.ngeom - 2)]).amin(0)
    assert torch.equal(quantities["two"].read(view), both)


def test_a_plane_has_no_lowest_point(tmp_path):
    (tmp_path / "model.xml").write_text(
        MODEL.replace("<worldbody>", '<worldbody><geom name="floor" type="plane" size="1 1 1"/>')
    )
    kind = type(
        "Flat", (MujocoTask,), {"model": "model.xml", "path": tmp_path / "task.py", "low": Geom("floor").clearance}
    )
    with pytest.raises(TaskError, match="`floor` has no lowest point"):
        kind().make_envs([0], 1)


def test_goals_that_do_not_come_again_are_refused(carting):
    view = SimView(carting.make_simulator(2))
    state = view.qpos.clone(), view.qvel.clone()
    view.begin(torch.arange(2), (*state, {"mark": torch.zeros(2, 3)}))
    with pytest.raises(TaskError, match="goals none, and before mark"):
        view.begin(torch.arange(2), (*state, {}))


def episode(lengths, step_s=0.1):
    values = torch.arange(8.0)[:, None].repeat(1, len(lengths))
    ended = torch.tensor(lengths) < 8
    return Episode({"x": values}, torch.tensor(lengths), ended, step_s, 8), values


def test_the_last_seconds_of_an_episode_are_those_before_each_envs_end():
    recorded, values = episode([8, 5, 2])
    assert recorded.last(values).tolist() == [7.0, 4.0, 1.0]
    assert recorded.last(values, seconds=0.3).tolist() == [6.0, 3.0, 0.5]
    assert recorded.last(values >= 3.0, seconds=0.3).tolist() == pytest.approx([1.0, 2 / 3, 0.0])
    assert recorded.last(values >= 0.0, seconds=0.3).tolist() == pytest.approx([1.0, 1.0, 2 / 3])
    assert recorded.last(values[..., None], seconds=0.3).shape == (3, 1)
    assert recorded.first(values).tolist() == [0.0, 0.0, 0.0]
