"""Variables that are read off a model by the names of its parts, against what the physics must give."""

import math

import pytest
import torch

from rewardgen import (
    Body,
    CentreOfMass,
    ContactForce,
    Direction,
    Distance,
    Effort,
    Energy,
    Geom,
    Hinge,
    MujocoTask,
    Sensor,
    Site,
    Slide,
    Tendon,
    Touching,
)
from rewardgen.core.errors import TaskError
from rewardgen.sim.sim_view import SimView

SPINNER = """
<mujoco><option timestep="0.005" gravity="0 0 0"/>
<worldbody>
  <body name="box" pos="0 0 1"><freejoint/><geom type="box" size=".1 .1 .1" mass="2"/></body>
  <body name="arm" pos="1 0 1"><joint name="elbow" axis="0 1 0"/><geom size=".1" mass="1"/>
    <body pos="0 0 -1"><joint name="tip" type="slide" axis="0 0 1"/><geom size=".05"/><site name="end"/></body></body>
</worldbody>
<tendon><fixed name="cord"><joint joint="elbow" coef="2"/></fixed></tendon>
<actuator><motor joint="elbow" gear="3" ctrlrange="-1 1" ctrllimited="true"/></actuator>
<sensor><jointpos name="bend" joint="elbow"/></sensor></mujoco>
"""
RESTING = """
<mujoco><worldbody><geom type="plane" size="5 5 1"/>
<body name="ball" pos="0 0 .1"><freejoint/><geom size=".1" mass="3"/></body>
<body name="far" pos="2 0 .1"><freejoint/><geom size=".1"/></body>
<body name="motor"><joint name="j"/><geom size=".01" pos="0 0 3"/></body></worldbody>
<actuator><motor joint="j" ctrlrange="-1 1" ctrllimited="true"/></actuator></mujoco>
"""


def task(folder, model, **quantities):
    """A task with these variables, in a folder of its own."""
    (folder / "model.xml").write_text(model)
    kind = type(
        "Quantities", (MujocoTask,), {"model": "model.xml", "episode_steps": 100, "start_noise": 0.0, **quantities}
    )
    kind.path = folder / "task.py"
    return kind()


def envs_of(folder, model, **quantities):
    """Two envs of it, at their start."""
    envs = task(folder, model, **quantities).make_envs([0], 2)
    envs.reset()
    return envs


def last(envs, steps=1):
    still = torch.zeros(envs.num_envs, envs.action_size)
    return [envs.step(still) for _ in range(steps)][-1].inputs


def test_turns_are_counted_over_several_revolutions_about_the_bodys_own_axis(tmp_path):
    quantities = {"flips": Body("box").turns("y"), "rolls": Body("box").turns("x")}
    envs = envs_of(tmp_path, SPINNER, **quantities)
    qpos = envs.view.qpos0.repeat(2, 1)
    half = math.pi / 4  # its own y axis lies along the world's -x axis in the second env
    qpos[1, 3:7] = torch.tensor([math.cos(half), 0.0, 0.0, math.sin(half)])
    qvel = torch.zeros(2, envs.view.model.nv, dtype=torch.float64)
    qvel[:, 4] = 2.0 * math.pi * 3.0
    envs.place(qpos, qvel)
    found = last(envs, 99)
    seconds = 98 * 0.005  # sensors tell of the last substep's beginning
    assert found["flips"].tolist() == pytest.approx([3.0 * seconds] * 2, rel=1e-3)
    assert found["rolls"].abs().max() < 1e-3
    assert last(envs, 2)["flips"].abs().max() < 0.2  # the next episode counts from zero


def test_a_bodys_motion_is_told_in_the_worlds_frame_and_in_its_own(tmp_path):
    box = Body("box")
    names = ("velocity", "local_velocity", "angular_velocity", "upright", "heading", "height", "position")
    envs = envs_of(tmp_path, SPINNER, **{name: getattr(box, name) for name in names})
    qpos, qvel = envs.view.qpos0.repeat(2, 1), torch.zeros(2, envs.view.model.nv, dtype=torch.float64)
    qpos[:, 3:7] = torch.tensor([math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5)])  # facing +y
    qvel[:, 1] = 2.0  # along +y
    qvel[:, 5] = 1e-3
    envs.place(qpos, qvel)
    found = {name: value[0].tolist() for name, value in last(envs).items()}
    assert found["velocity"] == pytest.approx([0.0, 2.0, 0.0], abs=1e-4)
    assert found["local_velocity"] == pytest.approx([2.0, 0.0, 0.0], abs=1e-4)
    assert found["angular_velocity"] == pytest.approx([0.0, 0.0, 1e-3], abs=1e-6)
    assert found["heading"] == pytest.approx(math.pi / 2, abs=1e-4)
    assert found["upright"] == pytest.approx(1.0) and found["height"] == pytest.approx(1.0)


def test_joints_tendons_actuators_and_the_models_own_sensors_are_read(tmp_path):
    envs = envs_of(
        tmp_path,
        SPINNER,
        angle=Hinge("elbow").angle,
        speed=Hinge("elbow").velocity,
        torque=Hinge("elbow").torque,
        reach=Slide("tip").position,
        cord=Tendon("cord").length,
        effort=Effort("elbow"),
        bend=Sensor("bend", "rad", "angle of the elbow"),
        energy=Energy("kinetic"),
        end=Site("end").height,
        ball=Geom("arm_geom").position,
        com=CentreOfMass("box").position,
    )
    envs.step(torch.ones(2, 1))
    found = {name: value[0] for name, value in envs.step(torch.ones(2, 1)).inputs.items()}
    assert found["angle"] > found["bend"] > 0.0 and found["speed"] > 0.0
    assert found["cord"] == pytest.approx(2.0 * float(found["bend"]), rel=1e-5)
    assert float(found["torque"]) == pytest.approx(3.0) and float(found["effort"]) == pytest.approx(1.0)
    assert found["energy"] > 0.0 and found["end"] == pytest.approx(0.0, abs=1e-3)
    assert found["ball"].tolist() == pytest.approx([1.0, 0.0, 1.0]) and found["com"].tolist() == [0.0, 0.0, 1.0]


def test_contact_and_what_lies_between_two_things(tmp_path):
    envs = envs_of(
        tmp_path,
        RESTING,
        landed=Touching("ball", "floor"),
        load=ContactForce("ball", "floor"),
        met=Touching("ball", "far"),
        gap=Distance("ball", "far"),
        way=Direction("ball", "far_geom"),
    )
    found = {name: value[0] for name, value in last(envs, 90).items()}
    assert found["landed"] == 1.0 and found["met"] == 0.0
    assert float(found["load"]) == pytest.approx(3.0 * 9.81, rel=0.02)
    assert float(found["gap"]) == pytest.approx(2.0, abs=1e-3)
    assert found["way"].tolist() == pytest.approx([2.0, 0.0, 0.0], abs=1e-3)


@pytest.mark.parametrize(
    "quantity, told",
    [
        (Body("bax").height, "no body `bax`"),
        (Distance("box", "nothing"), "no body, geom or site `nothing`"),
        (Touching("box", "end"), "no body or geom `end`"),
        (Touching("box", "site:end"), "no body or geom `site:end`"),
        (Distance("box", "geom:end"), "no body, geom or site `geom:end`"),
        (Hinge("tip").angle, "joint `tip` is no hinge joint"),
        (Slide("tap").position, "no joint `tap`"),
        (Tendon("rope").length, "no tendon `rope`"),
    ],
)
def test_a_part_that_the_model_does_not_have_is_named(tmp_path, quantity, told):
    with pytest.raises(TaskError, match=told) as caught:
        envs_of(tmp_path, SPINNER, wrong=quantity)
    assert caught.value.hint


HAND = """
<mujoco><worldbody><geom name="hand" type="plane" size="5 5 1"/>
<geom name="ghost" contype="0" conaffinity="0" size=".1"/>
<body name="hand" pos="0 0 1"><joint name="wrist" axis="0 1 0"/><geom size=".1"/><geom pos=".3 0 0" size=".1"/>
  <body name="nail" pos=".3 0 0"><geom size=".05"/></body>
  <body name="finger" pos="0 0 -.3"><joint name="knuckle" axis="0 1 0"/><geom name="finger" size=".1"/>
    <body name="tip" pos="0 0 -.55"><joint name="end" axis="0 1 0"/><geom size=".1" pos="0 0 -.06"/>
      <site name="hand" pos="0 0 -.1"/></body></body></body>
<body name="mark" mocap="true" pos="0 0 2"/></worldbody>
<contact><exclude body1="hand" body2="world"/></contact>
<actuator><motor joint="knuckle" ctrlrange="-1 1" ctrllimited="true"/></actuator></mujoco>
"""


def test_all_parts_that_a_model_does_not_have_are_named_at_once(tmp_path):
    with pytest.raises(TaskError) as caught:
        envs_of(tmp_path, SPINNER, one=Body("bax").height, two=Site("ende").position)
    assert "no body `bax`; the model has no site `ende`" in caught.value.message
    assert "`box`" in caught.value.hint and "`end`" in caught.value.hint


@pytest.mark.parametrize(
    "one, other",
    [
        ("finger", "finger"),
        ("finger", "geom:finger"),
        ("hand", "finger"),
        ("hand_geom", "hand_geom_2"),
        ("hand_geom_2", "nail"),
        ("nail", "finger"),
        ("finger", "ghost"),
        ("hand", "geom:hand"),
        ("mark", "finger"),
        ("mark", "geom:hand"),
    ],
)
def test_what_can_never_touch_is_refused(tmp_path, one, other):
    with pytest.raises(TaskError, match="can never touch") as caught:
        envs_of(tmp_path, HAND, met=Touching(one, other))
    assert "hangs on" in caught.value.hint


def test_a_pair_that_a_model_names_touches_whatever_else_forbids_it(tmp_path):
    model = HAND.replace("<contact>", '<contact><pair geom1="finger" geom2="ghost"/>')
    assert last(envs_of(tmp_path, model, met=Touching("finger", "ghost")))["met"].tolist() == [0.0, 0.0]


def test_a_name_of_several_things_means_the_body_and_a_kind_before_it_another(tmp_path):
    envs = envs_of(
        tmp_path,
        HAND,
        to_body=Distance("mark", "hand"),
        to_geom=Distance("mark", "geom:hand"),
        to_site=Direction("mark", "site:hand"),
        landed=Touching("tip", "geom:hand"),
        by_part=Touching("tip_geom", "geom:hand"),
        of_body=Touching("hand", "tip"),
    )
    found = {name: value[0].tolist() for name, value in last(envs, 30).items() if name != "action"}
    assert found["to_body"] == pytest.approx(1.0) and found["to_geom"] == pytest.approx(2.0)
    assert found["to_site"] == pytest.approx([0.0, 0.0, -1.95], abs=0.01)
    assert found["landed"] == found["by_part"] == 1.0 and found["of_body"] == 0.0
    assert Touching("tip", "geom:hand").meaning == "1 while tip touches the geom hand, else 0"


def test_a_quantity_can_be_told_in_the_words_of_a_task(tmp_path):
    plain = Hinge("elbow").angle
    told = plain.told('how far the arm "hangs"')
    assert (told.unit, told.parts, told.meaning) == (plain.unit, plain.parts, 'how far the arm "hangs"')
    assert eval(told.code) == told
    found = last(envs_of(tmp_path, SPINNER, plain=plain, told=told), 3)
    assert torch.equal(found["plain"], found["told"])


def test_turns_that_nobody_counts_are_an_error(tmp_path):
    simulator = task(tmp_path, SPINNER).make_simulator(1)
    with pytest.raises(TaskError, match="not counted"):
        Body("box").turns("x").read(SimView(simulator))


def test_a_model_without_quantities_is_compiled_as_it_is(tmp_path):
    plain = task(tmp_path, RESTING).make_simulator(1).model
    named = task(tmp_path, RESTING, landed=Touching("ball", "floor")).make_simulator(1).model
    assert plain.nsensor == 0 and plain.geom(0).name == ""
    assert named.nsensor == 1 and named.geom(0).name == "floor"
