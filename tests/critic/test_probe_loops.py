"""Components that pay for going around in circles are told, differences of a potential are not."""

from dataclasses import replace

import pytest

from rewardgen.sim.variables import Pair
from tests.critic.banks import TRAPS, found, of_trap, recorded

PARAMETERS = "pole_upright, prev_pole_upright, action, prev_action, cart_position"


@pytest.mark.parametrize(
    "term",
    [
        "5.0 * (pole_upright - prev_pole_upright).clamp(min=0.0)",
        "5.0 * (pole_upright - prev_pole_upright).abs()",
        "1.0 + 5.0 * torch.relu(pole_upright - prev_pole_upright)",
        "0.2 * (pole_upright > prev_pole_upright).float()",
    ],
)
def test_a_term_that_keeps_what_it_paid_is_told(term):
    finding = found("cartpole", PARAMETERS, f"return {{'up': pole_upright, 'rise': {term}}}")["loop-farming"]
    assert (finding.component, finding.line, finding.severity) == ("rise", 2, "warn")
    assert finding.evidence["kept"] > 0.9


@pytest.mark.parametrize(
    "term",
    [
        "5.0 * (pole_upright - prev_pole_upright)",
        "0.99 * 5.0 * pole_upright.exp() - 5.0 * prev_pole_upright.exp()",
        "-0.1 * (action - prev_action).square().sum(-1)",
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


def test_farming_what_the_task_asks_for_is_a_rejection_if_little_else_is_paid():
    bank = recorded(str(TRAPS / "pacing.py"))
    pair = Pair("near beats far", better={"distance": 0.0}, worse={"distance": 1.0})
    bank = replace(bank, facts=bank.facts.model_copy(update={"pairs": (pair,)}))
    parameters = "distance, prev_distance"
    only = "return {'progress': 10.0 * (prev_distance - distance).clamp(min=0.0)}"
    assert found(bank, parameters, only)["loop-farming"].severity == "reject"
    beside = only.replace("}", ", 'near': 3.0 * torch.exp(-distance)}")
    assert found(bank, parameters, beside)["loop-farming"].severity == "warn"
