"""What a designer is told of masses and motors."""

import mujoco
import pytest

from rewardgen.sim.model_words import body_words


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
