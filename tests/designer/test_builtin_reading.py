"""How the built-in designer reads words, quantities and sources."""

from __future__ import annotations

import pytest

from rewardgen.designer.builtin.catalogue import catalogue
from rewardgen.designer.builtin.genome import Factor, Genome, Term, TermInput
from rewardgen.designer.builtin.parsing import parse
from rewardgen.designer.builtin.quantities import quantities
from rewardgen.designer.builtin.rendering import render
from rewardgen.designer.builtin.shapes import SHAPES
from rewardgen.designer.builtin.words import TaskWords, value_when
from tests.builders import card as point_card
from tests.designer.builtin_parts import measured, reacher_card


def _words(description: str, goal: str = "", success: str = ""):
    return TaskWords(point_card(description=description, success=success), goal)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_survives_rendering_and_reading_back(shape):
    variable = "joint_velocity" if "mean(-1)" in SHAPES[shape].template else "height"
    variable = "action" if shape in ("effort", "smooth") else variable
    constants = tuple((role, 0.5) for role in SHAPES[shape].roles)
    gate = Factor("pitch_gate", "near", TermInput("pitch"), (("target", 0.0), ("temperature", 0.1)))
    genome = Genome((Term(Factor("it", shape, TermInput(variable), constants), 0.3, (gate,)),))
    assert parse(render(genome, measured("hopper"))) == genome


@pytest.mark.parametrize(
    "reading",
    [
        TermInput("fingertip", part=1),
        TermInput("fingertip", form="norm"),
        TermInput("fingertip", form="gap_norm", other="target"),
    ],
)
def test_every_form_of_reading_survives_with_its_value_one_step_before(reading):
    for shape in ("near", "approach"):
        constants = tuple((role, 0.5) for role in SHAPES[shape].roles)
        genome = Genome((Term(Factor("it", shape, reading, constants), 1.0),))
        assert parse(render(genome, reacher_card())) == genome


@pytest.mark.parametrize(
    "source",
    [
        "",
        "def compute_reward(:",
        "x = 1\n",
        "def compute_reward(height, *, a: float = 1.0):\n    return {'a': a * height}\n",
        "def compute_reward(height, *, a_weight: float = 1.0):\n    a = a_weight * height.sin()\n    return {'a': a}\n",
        "def compute_reward(height):\n    a = a_weight * height.clamp(0.0, 1.0)\n    return {'a': a}\n",
        "def helper(x):\n    return x\n\ndef compute_reward(height):\n    return {'a': height}\n",
    ],
)
def test_a_source_in_another_form_is_not_read(source):
    assert parse(source) is None


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("Hop forward as fast as it can.", "forward"),
        ("Swing the pole up and hold it upright.", "upright"),
        ("Walk without falling over.", "upright"),
        ("Reach the ball with the hand.", "reach"),
        ("Spin on the spot.", "spin"),
    ],
)
def test_words_ask_for_an_intent(text, intent):
    assert _words(text).intents[intent] > 0


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("Walk without falling or jumping.", "high"),
        ("Stand still, never running.", "go"),
        ("Three motors turn the joints.", "spin"),
    ],
)
def test_words_do_not_ask_for_what_they_deny_or_merely_mention(text, intent):
    assert _words(text).intents[intent] == 0


def test_the_robot_s_description_counts_less_than_the_task():
    words = _words("Balance.\n\nThe ankle lifts the leg forward.")
    assert words.strength("forward") < 0.2


def test_a_goal_overrides_the_course_that_the_task_gives():
    words = _words("Run forward.", goal="go backwards")
    assert words.backward
    assert not _words("Run forward.").backward


@pytest.mark.parametrize(
    ("meaning", "value"),
    [
        ("cosine of the angle: 1 upright, 0 horizontal, -1 hanging", 1.0),
        ("angle in (-pi, pi]: 0 upright, +-pi hanging", 0.0),
        ("height above the ground; 1.25 standing straight", 1.25),
        ("height; 0.75 in the reference pose", 0.75),
        ("tilt, zero when the torso is upright", 0.0),
        ("speed of the cart", None),
    ],
)
def test_the_value_of_a_wanted_state_is_read_from_a_meaning(meaning, value):
    assert value_when(meaning, r"upright|standing|in the reference pose") == value


def test_numbers_with_units_are_read_with_the_success_first():
    words = _words("Run at 3 m/s, tilted 0.2 rad at most.", success="1.5 m/s on average over 2 m.")
    assert words.numbers("m/s") == (1.5, 3.0)
    assert words.numbers("rad") == (0.2,)


def test_parts_of_a_vector_get_their_own_words():
    changed = (
        reacher_card()
        .variables[0]
        .model_copy(
            update={"name": "velocity", "unit": "m/s", "meaning": "velocity of the base: x forward, y to the left"}
        )
    )
    found = {each.input.part: each for each in quantities(reacher_card(variables=(changed,)))}
    assert found[0].says("forward")
    assert not found[1].says("forward")


def test_kinds_follow_units_and_words():
    kinds = {each.input.variable: each.kind for each in quantities(measured("hopper")) if each.input.part is None}
    assert kinds["x_velocity"] == "speed"
    assert kinds["pitch"] == "angle"
    assert kinds["healthy"] == "flag"
    assert kinds["height"] == "length"
    assert {each.kind for each in quantities(reacher_card()) if each.input.form == "gap_norm"} == {"distance"}


def test_nothing_is_paid_for_where_a_target_lies_but_for_the_way_to_it():
    card = reacher_card()
    variables = [
        each.model_copy(update={"given": (True, True)} if each.name == "target" else {}) for each in card.variables
    ]
    ideas = catalogue(reacher_card(variables=tuple(variables)))
    assert any(idea.term.factor.input.variable == "target" for idea in catalogue(card)), "or nothing is tested"
    assert not [idea for idea in ideas if idea.term.factor.input.variable == "target"]
    assert [idea for idea in ideas if idea.role == "drive" and idea.term.factor.input.other == "target"]
