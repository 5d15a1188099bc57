"""Cliffs between recorded states: pay that falls at once where it otherwise grows."""

import ast
import math

import pytest
import torch

from rewardgen.critic.probe.cliffs import check_cliffs
from rewardgen.critic.probe.component_source import ComponentSource
from rewardgen.critic.probe.probed_reward import ProbedReward
from rewardgen.sim.transitions import TransitionFacts, TransitionSet
from rewardgen.sim.variables import Wrap
from tests.critic.banks import probed

EPISODES, STEPS = 12, 40


def rising() -> TransitionSet:
    """Episodes in which a position goes from -1 to 1, an angle goes round once, and a foot comes down and stays."""
    time = torch.linspace(0.0, 1.0, STEPS).repeat(EPISODES)
    shift = 0.01 * torch.arange(EPISODES).repeat_interleave(STEPS)
    turned = torch.remainder(2.0 * math.pi * time + shift + 1.0, 2.0 * math.pi) - math.pi
    now = {"position": 2.0 * time - 1.0 + shift, "angle": turned, "contact": (time > 0.6).float()}
    before = {f"prev_{name}": torch.cat((value[:1], value[:-1])) for name, value in now.items()}
    rows = EPISODES * STEPS
    return TransitionSet(
        inputs=now | before,
        episode=torch.arange(EPISODES, dtype=torch.int32).repeat_interleave(STEPS),
        step=torch.arange(1, STEPS + 1, dtype=torch.int32).repeat(EPISODES),
        source=torch.zeros(rows, dtype=torch.int8),
        terminated=torch.zeros(rows, dtype=torch.bool),
        facts=TransitionFacts(invariances=(Wrap("angle"),)),
    )


def found(body):
    source = (
        f"def compute_reward(position, angle, contact):\n    return {{'r': {body}, 's': 0.1 * position + contact}}\n"
    )
    return probed(rising(), source)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_stage_that_begins_below_the_one_before_is_a_cliff(sign):
    finding = found(f"{sign} * torch.where(position < 0.3, 2.0 + position, position)")["cliff"]
    assert (finding.severity, finding.component, finding.line) == ("warn", "r", 2)
    high, low = sorted((sign * 2.3, sign * 0.3), reverse=True)
    assert finding.evidence["before"] == pytest.approx(high, abs=0.01)
    assert finding.evidence["after"] == pytest.approx(low, abs=0.01)
    assert finding.evidence["lines"] >= 5


@pytest.mark.parametrize(
    "body",
    [
        "position - 2.0 * torch.sigmoid(200.0 * (position - 0.3))",
        "5.0 * (position > 0.3).float()",
        "-5.0 * (position.abs() > 0.8).float()",
        "position + 5.0 * (position > 0.3).float()",
        "torch.where(position > 0.3, 0.0, 1.0 + position)",
        "position - 3.0 * contact",
        "position - 0.05 * torch.floor(4.0 * position)",
        "torch.cos(angle)",
        "1.0 - angle.abs()",
    ],
)
def test_a_steep_slope_a_bonus_a_gate_and_what_only_takes_whole_values_are_no_cliff(body):
    assert "cliff" not in found(body)


def test_an_angle_that_is_paid_as_a_number_falls_at_its_seam():
    assert found("angle")["cliff"].evidence["before"] == pytest.approx(math.pi, abs=0.01)


def test_states_between_recorded_ones_are_possible():
    bank, seen = rising(), []

    def call(inputs):
        seen.append(inputs)
        return {"r": torch.where(inputs["position"] < 0.3, 2.0, 0.0) + inputs["position"] + 0.0 * inputs["contact"]}

    reads = ("position", "angle", "contact", "prev_angle")
    source, components = ComponentSource(ast.parse("")), call({name: bank.inputs[name] for name in reads})
    reward = ProbedReward(call, reads, bank, source, components)
    assert [each.detector for each in check_cliffs(reward)] == ["cliff"]
    assert len(seen) > 10
    for inputs in seen:
        assert set(inputs["contact"].tolist()) <= {0.0, 1.0}
        assert max(float(inputs[name].abs().max()) for name in ("angle", "prev_angle")) <= math.pi + 1e-5
