"""Declared pairs and invariances, and loops of states: rewards that break them are seen, sound ones are not."""

from dataclasses import replace

import pytest

from rewardgen.sim.transitions import TransitionFacts
from rewardgen.sim.variables import Flip, Pair, Shift
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.members import own_program
from tests.builders import unrelated
from tests.critic.banks import TRAPS, found, of_trap, probed, recorded
from tests.reward.corpus import inputs

SLOW = ("ant", "walker2d", "half_cheetah", "humanoid", "reacher", "pusher", "inverted_double_pendulum")
TASKS = ["hopper", "cartpole", *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)]


@pytest.mark.parametrize("task", TASKS)
def test_the_human_reward_of_a_shipped_task_has_no_finding(task):
    program = own_program(load_task(task), "human_reward")
    assert program is not None and probed(recorded(task), program.source) == {}


# Pairs.


@pytest.mark.parametrize(
    ("parameters", "body", "pair"),
    [
        ("height", "return {'up': -2.0 * height}", "standing beats sinking"),
        ("height, prev_height", "return {'rise': 50.0 * (prev_height - height)}", "standing beats sinking"),
        ("action, x_velocity", "return {'v': 0.1 * x_velocity, 'a': action.square().sum(-1)}", "gentle beats full"),
    ],
)
def test_a_reward_that_is_the_wrong_way_round_is_rejected(parameters, body, pair):
    finding = found("hopper", parameters, body)["pair-reversed"]
    assert finding.severity == "reject" and pair in finding.message
    assert finding.evidence["wrong"] == 1.0 and finding.evidence["difference"] < 0.0
    assert finding.component and finding.line == 2


def test_a_small_term_the_wrong_way_round_is_a_warning():
    body = "return {'speed': x_velocity, 'up': -0.08 * height}"
    assert found("hopper", "x_velocity, height", body)["pair-reversed"].severity == "warn"


@pytest.mark.parametrize(
    ("parameters", "body"),
    [
        ("x_velocity", "return {'v': 2.0 * torch.tanh(x_velocity)}"),
        ("height, prev_height, x_velocity", "return {'s': 0.99 * 4.0 * height - 4.0 * prev_height, 'v': x_velocity}"),
        ("joint_velocity, foot_clearance", "return {'calm': -joint_velocity.square().sum(-1), 'f': foot_clearance}"),
    ],
)
def test_right_order_and_indifference_are_silent(parameters, body):
    assert "pair-reversed" not in found("hopper", parameters, body)


STAGES = "far = pole_upright < 0.3\nreturn {'r': torch.where(far, 2.0 + 2.0 * pole_upright, 0.5 + pole_upright)}"


def test_a_stage_that_begins_below_the_one_before_is_a_cliff():
    finding = found("cartpole", "pole_upright", STAGES)["cliff"]
    assert (finding.severity, finding.component, finding.line) == ("warn", "r", 3)
    assert finding.evidence["before"] > finding.evidence["after"]
    assert finding.evidence["at"] == pytest.approx(0.65, abs=0.03)


@pytest.mark.parametrize(
    ("parameters", "body"),
    [
        ("pole_upright", STAGES.replace("0.5 + pole", "3.0 + pole")),
        ("pole_upright", "return {'up': 0.1 * pole_upright, 'bonus': 5.0 * (pole_upright > 0.9).float()}"),
        ("cart_position", "return {'rail': -10.0 * (cart_position.abs() > 1.5).float() - cart_position.abs()}"),
    ],
)
def test_a_rising_stage_a_bonus_and_a_penalty_at_the_edge_are_no_cliff(parameters, body):
    assert "cliff" not in found("cartpole", parameters, body)


# Invariances.

FLIP = unrelated(inputs(512), TransitionFacts(invariances=(Flip("orientation"),)))
REACH = unrelated(inputs(512), TransitionFacts(invariances=(Shift(("position", "target"), (1.0, 0.0, 2.0)),)))


@pytest.mark.parametrize(
    ("task", "parameters", "body", "variable"),
    [
        ("hopper", "x_position, x_velocity", "return {'c': x_position, 'v': x_velocity}", "x_position"),
        (
            "cartpole",
            "pole_angle",
            "return {'c': torch.exp(-torch.remainder(pole_angle, 2.0 * math.pi))}",
            "pole_angle",
        ),
        (
            "cartpole",
            "pole_angle, prev_pole_angle, pole_upright",
            "return {'c': 5.0 * (pole_angle - prev_pole_angle), 'up': pole_upright}",
            "pole_angle",
        ),
        (FLIP, "orientation, height", "return {'c': 2.0 * orientation[:, 0], 'h': height}", "orientation"),
        (REACH, "position, target", "return {'c': -(position.norm(dim=-1) - target[:, 0]).abs()}", "position"),
    ],
)
def test_a_reward_that_notices_a_change_without_meaning_is_a_warning(task, parameters, body, variable):
    finding = found(task, parameters, body)["not-invariant"]
    assert finding.severity == "warn" and f"`{variable}`" in finding.message
    assert (finding.component, finding.line) == ("c", 2) and finding.evidence["change"] > 0.0


@pytest.mark.parametrize(
    ("task", "parameters", "body"),
    [
        ("hopper", "x_position, prev_x_position", "return {'way': 100.0 * (x_position - prev_x_position)}"),
        ("cartpole", "pole_angle", "return {'up': (pole_angle.abs() < 0.2).float() - pole_angle.abs()}"),
        pytest.param(
            "ant",
            "heading, x_velocity",
            "return {'v': x_velocity, 'ahead': 0.5 * torch.cos(heading)}",
            marks=pytest.mark.slow,
        ),
        (FLIP, "orientation", "return {'up': orientation[:, 0].abs()}"),
        (REACH, "position, target", "return {'d': -(position - target).norm(dim=-1)}"),
    ],
)
def test_a_reward_of_differences_and_even_functions_is_silent(task, parameters, body):
    assert "not-invariant" not in found(task, parameters, body)


# Loops.

PARAMETERS = "pole_upright, prev_pole_upright, action, prev_action, cart_position"


@pytest.mark.parametrize(
    "term",
    [
        "1.0 + 5.0 * torch.relu(pole_upright - prev_pole_upright)",
        "5.0 * (pole_upright - prev_pole_upright).abs()",
        "0.2 * (pole_upright > prev_pole_upright).float()",
    ],
)
def test_a_term_that_keeps_its_pay_on_a_loop_is_a_warning(term):
    finding = found("cartpole", PARAMETERS, f"return {{'up': pole_upright, 'rise': {term}}}")["loop-farming"]
    assert (finding.component, finding.line, finding.severity) == ("rise", 2, "warn")
    assert finding.evidence["kept"] > 0.9


@pytest.mark.parametrize(
    "term",
    [
        "0.99 * 5.0 * pole_upright.exp() - 5.0 * prev_pole_upright.exp()",
        "torch.exp(-(action - prev_action).square().sum(-1))",
        "-5.0 * torch.relu(prev_pole_upright - pole_upright)",
        "torch.where(cart_position.abs() < 1.0, 5.0 * (pole_upright - prev_pole_upright), 0.0)",
    ],
)
def test_potentials_and_costs_of_change_are_silent(term):
    body = f"return {{'up': pole_upright, 'cart': -0.1 * cart_position.abs(), 'change': {term}}}"
    assert "loop-farming" not in found("cartpole", PARAMETERS, body)


def test_the_trap_of_pacing_is_seen_and_its_sound_reward_passes():
    assert of_trap("pacing", "naive_reward")["loop-farming"].component == "progress"
    assert "loop-farming" not in of_trap("pacing", "sound_reward")


def test_farming_the_tasks_own_goal_is_a_rejection_if_little_else_is_paid():
    bank = recorded(str(TRAPS / "pacing.py"))
    pair = Pair("near beats far", better={"distance": 0.0}, worse={"distance": 1.0})
    bank = replace(bank, facts=bank.facts.model_copy(update={"pairs": (pair,)}))
    parameters = "distance, prev_distance"
    only = "return {'progress': 10.0 * (prev_distance - distance).clamp(min=0.0)}"
    assert found(bank, parameters, only)["loop-farming"].severity == "reject"
    beside = only.replace("}", ", 'near': 3.0 * torch.exp(-distance)}")
    assert found(bank, parameters, beside)["loop-farming"].severity == "warn"
