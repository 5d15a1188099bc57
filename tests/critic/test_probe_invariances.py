"""What the task declares as meaningless must not change the reward: moved worlds, flipped quaternions, the seam."""

import pytest

from rewardgen.sim.transitions import TransitionFacts
from rewardgen.sim.variables import Flip, Shift
from tests.builders import unrelated
from tests.critic.banks import found
from tests.reward.corpus import inputs

FLIP = unrelated(inputs(512), TransitionFacts(invariances=(Flip("orientation"),)))
REACH = unrelated(inputs(512), TransitionFacts(invariances=(Shift(("position", "target"), (1.0, 0.0, 2.0)),)))


@pytest.mark.parametrize(
    ("task", "parameters", "body", "variable"),
    [
        ("hopper", "x_position, x_velocity", "return {'far': x_position, 'v': x_velocity}", "x_position"),
        ("cartpole", "pole_angle", "return {'lean': pole_angle}", "pole_angle"),
        (
            "cartpole",
            "pole_angle",
            "return {'up': torch.exp(-torch.remainder(pole_angle, 2.0 * math.pi))}",
            "pole_angle",
        ),
        (
            "cartpole",
            "pole_angle, prev_pole_angle, pole_upright",
            "return {'turn': 5.0 * (pole_angle - prev_pole_angle), 'up': pole_upright}",
            "pole_angle",
        ),
        (FLIP, "orientation, height", "return {'up': 2.0 * orientation[:, 0], 'h': height}", "orientation"),
        (REACH, "position, target", "return {'d': -(position.norm(dim=-1) - target[:, 0]).abs()}", "position"),
    ],
)
def test_a_reward_that_notices_what_means_nothing_is_a_warning(task, parameters, body, variable):
    finding = found(task, parameters, body)["not-invariant"]
    assert finding.severity == "warn" and f"`{variable}`" in finding.message
    assert finding.component in ("far", "lean", "turn", "up", "d") and finding.line == 2
    assert finding.evidence["change"] > 0.0


@pytest.mark.parametrize(
    ("task", "parameters", "body"),
    [
        ("hopper", "x_position, prev_x_position", "return {'way': 100.0 * (x_position - prev_x_position)}"),
        ("cartpole", "pole_angle", "return {'up': -pole_angle.square()}"),
        ("cartpole", "pole_angle", "return {'up': (pole_angle.abs() < 0.2).float() - pole_angle.abs()}"),
        ("cartpole", "pole_angle, prev_pole_angle", "return {'up': prev_pole_angle.abs() - pole_angle.abs()}"),
        ("ant", "heading, x_velocity", "return {'v': x_velocity, 'ahead': 0.5 * torch.cos(heading)}"),
        (FLIP, "orientation", "return {'up': orientation[:, 0].abs()}"),
        (REACH, "position, target", "return {'d': -(position - target).norm(dim=-1)}"),
    ],
)
def test_a_reward_of_differences_and_even_functions_is_silent(task, parameters, body):
    assert "not-invariant" not in found(task, parameters, body)
