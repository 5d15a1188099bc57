"""Words for designers about masses, motors and shapes of a model."""

import mujoco
import pytest

from rewardgen.sim.model_words import body_words, colour_name, geom_words, shapes_words, site_words


def model(actuators, more=""):
    return mujoco.MjModel.from_xml_string(
        f"""<mujoco><worldbody>
        <body name="cart"><joint name="slide" type="slide" axis="1 0 0"/><geom size=".1" mass="1"/>
          <body name="pole" pos="0 0 1"><joint name="hinge" type="hinge"/><geom size=".1" mass="0.5"/></body></body>
        <body name="mark"><freejoint/><geom size=".1" mass="1e-9"/><site name="there"/></body>
        <body name="floor"><geom size=".1" mass="5"/></body>{more}
        </worldbody><actuator>{actuators}</actuator></mujoco>"""
    )


MASS = "All that moves weighs 1.5 kg together."


@pytest.mark.parametrize(
    ("actuators", "told"),
    [
        ('<motor joint="slide" gear="3" ctrlrange="-2 1"/>', "Its motor exerts at most 6 N."),
        (
            '<motor name="push" joint="slide" gear="3" ctrlrange="-2 2" forcerange="-1 1"/>'
            '<motor name="turn" joint="hinge" gear="-20" ctrlrange="-1 1"/>',
            "Motors exert at most: push 3 N, turn 20 N m.",
        ),
        (
            '<motor joint="hinge" ctrlrange="-1 1"/><motor joint="hinge" ctrlrange="-1 1"/>',
            "Each motor exerts at most 1 N m.",
        ),
        ('<position joint="hinge" kp="5" ctrlrange="-1 1"/>', ""),
        ('<motor joint="hinge" ctrlrange="-1 1"/><motor site="there" ctrlrange="-1 1"/>', ""),
        ('<motor joint="hinge"/>', ""),
        ("", ""),
    ],
    ids=["slide", "by name", "alike", "position", "on a site", "without limit", "none"],
)
def test_masses_are_told_and_motors_where_all_of_them_are_plain(actuators, told):
    assert body_words(model(actuators)) == f"{MASS} {told}".strip()


def test_each_of_several_things_that_move_is_told_with_its_mass():
    more = '<body name="ball" pos="3 0 1"><freejoint/><geom size=".1" mass="0.25"/></body>'
    assert body_words(model("", more)) == "Mass, with all that hangs on it: cart 1.5 kg, ball 0.25 kg."


@pytest.mark.parametrize(
    ("slide", "hinge", "told"),
    [
        (0, 0.5, "Damping of each damped joint: 0.5 N m s."),
        (2, 0.5, "Damping of joints: slide 2 N s/m, hinge 0.5 N m s."),
        (0, 0, ""),
    ],
)
def test_damping_is_told_with_its_unit(slide, hinge, told):
    damped = model("")
    damped.dof_damping[:2] = slide, hinge
    assert body_words(damped) == f"{MASS} {told}".strip()


def test_limits_of_joints_are_told_with_their_unit():
    limited = model("")
    limited.jnt_limited[:2] = True
    limited.jnt_range[:2] = (-2, 1.5), (-1.0472, 0)
    assert body_words(limited) == f"{MASS} Joint limits: slide -2 to 1.5 m, hinge -1.05 to 0 rad."


SCENE = """
<mujoco><asset><material name="grass" rgba="0.1 0.8 0.1 1"/></asset><worldbody>
  <geom name="floor" type="plane" size="1 1 1"/>
  <geom name="wall" type="box" size=".1 .2 .3" pos="1 0 .3" rgba="0.5 0.5 0.5 1"/>
  <body name="mark" mocap="true"><geom name="spot" type="cylinder" size=".06 .001" contype="0" conaffinity="0"
    material="grass"/></body>
  <body name="arm"><joint name="elbow" axis="0 0 1"/><geom name="rod" type="capsule" size=".02 .1"/>
    <body name="hand" pos=".2 0 0"><joint name="wrist" axis="0 0 1"/><geom name="palm" size=".03"/>
      <site name="tip" size=".01" rgba="0 0 1 1"/></body></body>
  <body name="ball" pos="0 1 0"><freejoint/><geom name="ball" size=".05" rgba="0.9 0.1 0.1 1"/></body>
  MORE</worldbody>
  <actuator><motor joint="elbow" ctrlrange="-1 1"/></actuator></mujoco>"""


def scene(more=""):
    return mujoco.MjModel.from_xml_string(SCENE.replace("MORE", more))


def test_a_geom_has_its_form_and_colour_and_its_place_where_it_never_moves():
    model = scene()
    told = {model.geom(each).name: geom_words(model, each) for each in range(model.ngeom)}
    assert told["floor"] == "plane"
    assert told["wall"] == "box of 0.2 x 0.4 x 0.6 m, at (1, 0, 0.3)"
    assert told["spot"] == "cylinder of radius 0.06 and height 0.002 m, green, touches nothing"
    assert told["rod"] == "capsule of radius 0.02 and length 0.24 m"
    assert told["ball"] == "sphere of radius 0.05 m, red"
    assert site_words(model, 0) == "sphere of radius 0.01 m, blue"


def test_a_designer_is_told_of_things_of_the_robots_ends_and_of_marks():
    words = shapes_words(scene())
    assert "ball (sphere of radius 0.05 m, red)" in words and "palm (sphere" in words and "site tip (" in words
    assert "wall (box of 0.2 x 0.4 x 0.6 m, at (1, 0, 0.3))" in words and "rod" not in words


def test_where_there_is_nothing_to_handle_the_robots_parts_are_told():
    alone = mujoco.MjModel.from_xml_string(SCENE.split('<body name="ball"')[0] + "</worldbody></mujoco>")
    words = shapes_words(alone)
    assert "rod (capsule of radius 0.02 and length 0.24 m, at (0, 0, 0))" in words
    assert "site" not in words and "floor" not in words


@pytest.mark.parametrize(
    ("rgba", "name"),
    [
        ((1, 0, 0, 1), "red"),
        ((0.9, 0.6, 0.1, 1), "orange"),
        ((0.9, 0.9, 0.1, 1), "yellow"),
        ((0.1, 0.8, 0.1, 0.6), "green"),
        ((0.2, 0.3, 0.9, 1), "blue"),
        ((0.6, 0.1, 0.7, 1), "purple"),
        ((0.5, 0.5, 0.5, 1), ""),
        ((0.05, 0.0, 0.0, 1), ""),
    ],
)
def test_colours_have_the_names_that_people_give_them(rgba, name):
    assert colour_name(rgba) == name
