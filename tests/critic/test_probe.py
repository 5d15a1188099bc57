"""Each detector of the probe is raised by a planted defect and stays silent on a sound reward."""

import ast

import pytest
import torch

from rewardgen.core.errors import UsageError
from rewardgen.critic.probe.component_source import ComponentSource
from rewardgen.critic.probe.contract import check_contract
from rewardgen.critic.probe.probed_reward import ProbedReward
from rewardgen.critic.review_job import review_job
from rewardgen.sim.transitions import TransitionFacts, load_transitions, save_transitions
from tests.builders import card, unrelated
from tests.critic.banks import found, probe_source
from tests.reward.corpus import HONEST, inputs

INPUTS = inputs(512)
BANK = unrelated(INPUTS)


def detectors(body, parameters="height, x_velocity, action, position, target, prev_height", bank=BANK):
    return found(bank, parameters, body)


def only(body, **changes):
    ((detector, finding),) = detectors(body, **changes).items()
    assert finding.message and finding.hint and finding.gate == "probe"
    assert finding.evidence or detector == "probe-shape"
    return detector, finding


SOUND = """up = torch.exp(-(height - 1.2) ** 2 / 0.1)
return {'speed': x_velocity, 'up': up, 'effort': -0.01 * action.square().sum(-1)}"""


def test_a_sound_reward_has_no_finding():
    assert detectors(SOUND) == {}


@pytest.mark.parametrize("style", HONEST)
def test_no_honest_reward_is_rejected(style):
    findings = probe_source(HONEST[style], BANK)
    assert [finding for finding in findings if finding.severity == "reject"] == []


def test_an_exception_is_told_with_its_line():
    detector, finding = only("x = action[:, 5]\nreturn {'h': height + x}")
    assert (detector, finding.severity, finding.line) == ("probe-exception", "reject", 2)


def test_a_wrong_shape_is_told_with_its_component():
    detector, finding = only("return {'speed': x_velocity, 'effort': action.sum(-1, keepdim=True)}")
    assert (detector, finding.component) == ("probe-shape", "effort")


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ("return {'h': height, 'bad': torch.log(x_velocity)}", "recorded"),
        ("return {'h': height, 'bad': x_velocity / height}", "`height` = 0"),
        ("return {'h': height, 'bad': torch.exp(8.0 * height)}", "`height` = 17"),
        ("a = action.norm(dim=-1) + x_velocity.abs()\nreturn {'h': height, 'bad': x_velocity / a}", "at rest"),
        ("return {'h': height, 'bad': (height - prev_height) / (height - prev_height).abs()}", "nothing has changed"),
    ],
)
def test_a_value_that_is_not_finite_is_told_with_where(body, where):
    detector, finding = only(body)
    assert (detector, finding.severity, finding.component) == ("non-finite", "reject", "bad")
    assert where in finding.message and finding.line


def test_what_overflows_only_far_beyond_the_recordings_is_a_warning():
    findings = detectors("return {'h': x_velocity, 'bad': torch.exp(height)}")
    assert {each.severity for each in findings.values()} == {"warn"}
    assert findings["overflow"].component == "bad" and findings["overflow"].evidence == {"input": 1000.0}


def test_unit_vectors_are_not_tried_at_zero():
    assert "non-finite" not in detectors("return {'w': orientation[:, 0] / orientation.norm(dim=-1)}", "orientation")


def test_bounded_inputs_are_tried_at_their_bounds():
    body = "return {'w': torch.exp(8.0 * height) + x_velocity}"
    bounded = unrelated(INPUTS, TransitionFacts(bounds={"height": 1.0}))
    assert "non-finite" in detectors(body) and "non-finite" not in detectors(body, bank=bounded)


def test_equal_points_are_tried():
    # Both are positive, so that standstill at zero is not tried before.
    positive = {name: INPUTS[name].abs() + 0.1 for name in ("position", "target")}
    bank = unrelated({**INPUTS, **positive})
    away = "position - target"
    detector, finding = only(f"return {{'h': height, 'bad': ({away})[:, 0] / ({away}).norm(dim=-1)}}", bank=bank)
    assert detector == "non-finite" and "`position` and `target` are equal" in finding.message


FOOT = torch.linspace(-0.02, 2.35, 512)


@pytest.mark.parametrize("side", [1.0, -1.0], ids=["above", "below"])
def test_far_out_is_the_recorded_range_many_times_over_on_both_of_its_sides(side):
    bank = unrelated({**INPUTS, "height": side * FOOT, "contact": (FOOT < 0.5).float()})
    down = f"{-10.0 * side} * height"
    assert detectors(f"return {{'soft': torch.exp({down}) * contact}}", "height, contact", bank=bank) == {}
    detector, finding = only(
        f"return {{'soft': torch.exp(-1.0 * {down}) * contact}}", parameters="height, contact", bank=bank
    )
    assert detector == "non-finite" and "`height` = " in finding.message and "pushed out" in finding.message
    assert abs(finding.evidence["input"]) > 10.0 and finding.evidence["input"] * side > 0.0


def test_each_part_of_an_input_goes_as_far_out_as_it_was_recorded():
    position = torch.stack([100.0 * INPUTS["x_velocity"], FOOT, 0.01 * INPUTS["x_velocity"]], dim=-1)
    bank = unrelated({**INPUTS, "position": position})
    assert "non-finite" not in detectors("return {'p': torch.exp(-10.0 * position[:, 1])}", "position", bank=bank)
    assert "non-finite" not in detectors("return {'p': torch.exp(10.0 * position[:, 2])}", "position", bank=bank)
    found = detectors("return {'p': torch.exp(position[:, 0] / 10.0)}", "position", bank=bank)
    assert "`position` = (" in found["non-finite"].message


def test_sizes_are_not_tried_below_zero_and_signed_inputs_are():
    bank = unrelated({**INPUTS, "height": INPUTS["height"].abs()})
    assert "non-finite" not in detectors("return {'h': height.sqrt()}", "height", bank=bank)
    assert "non-finite" in detectors("return {'h': (x_velocity + 20.0).sqrt()}", "x_velocity")


@pytest.mark.parametrize(
    "bad",
    [
        "height - height.mean()",
        "height / height.abs().max().clamp(min=1e-6)",
        "action.softmax(0)[:, 0]",
        "height.cumsum(0)",
    ],
)
def test_a_reward_that_mixes_envs_is_told(bad):
    detector, finding = only(f"return {{'speed': x_velocity, 'bad': {bad}}}")
    assert (detector, finding.severity, finding.component) == ("batch-dependent", "reject", "bad")


def test_a_reward_that_only_works_for_many_envs_is_told():
    detector, finding = only("return {'h': height + action.squeeze()[:, 0] + x_velocity[1]}")
    assert detector in ("probe-exception", "batch-dependent") and "batch of" in finding.message


@pytest.mark.parametrize("many", ["> 6000", "> 400", "> 10", "> 1", "== 128"])
@pytest.mark.parametrize("then", ["parts['extra'] = height - 0.1", "parts['speed'] = 2.0 * x_velocity"])
def test_a_reward_that_asks_for_the_number_of_envs_is_told(many, then):
    detector, finding = only(f"parts = {{'speed': x_velocity}}\nif height.shape[0] {many}:\n    {then}\nreturn parts")
    assert (detector, finding.severity, finding.line) == ("probe-exception", "reject", 3)
    assert "any number of envs" in finding.hint


def test_no_component_that_varies_is_a_rejection():
    detector, finding = only("return {'alive': torch.ones_like(height), 'bonus': (height > 99.0).float()}")
    assert (detector, finding.severity) == ("no-signal", "reject")
    assert "`alive` = 1" in finding.message


@pytest.mark.parametrize(
    ("extra", "detector"),
    [
        ("torch.ones_like(height)", "constant-component"),
        ("torch.exp(-position.norm(dim=-1) / 0.002)", "dead-component"),
        ("(height > 99.0).float()", "bonus-never-fires"),
        ("1e-5 * height.abs()", "dead-component"),
        ("100.0 * height.abs()", "dominant-component"),
        ("torch.exp((3.0 * x_velocity).clamp(-80, 80))", "exploding-component"),
        ("2.0 * x_velocity + 1.0", "redundant-components"),
        ("-0.5 * x_velocity", "contradictory-components"),
        ("1e4 * position[:, 0]", "reward-scale"),
    ],
)
def test_a_component_that_cannot_guide_as_it_is_is_a_warning(extra, detector):
    found = detectors(SOUND.replace("{'speed'", f"{{'extra': {extra}, 'speed'"))
    assert found[detector].severity == "warn"
    assert found[detector].hint
    assert all(finding.severity == "warn" for finding in found.values())


def test_a_reward_that_is_far_too_small_is_a_warning():
    assert set(detectors("return {'a': 1e-6 * x_velocity, 'b': 1e-6 * height}")) == {"reward-scale"}


def test_a_total_that_is_not_the_sum_of_its_parts_is_a_warning():
    total = "a = x_velocity\nb = height\nreturn a + b + {0}, {{'a': a, 'b': b}}"
    assert set(detectors(total.format("0.3 * action[:, 0]"))) == {"residual"}
    assert detectors(total.format("0.0")) == {}


def test_the_constants_given_with_a_reward_are_those_that_are_probed():
    source = (
        "def compute_reward(height, x_velocity, *, w: float = 1.0):\n    return {'h': height, 'x': x_velocity / w}\n"
    )
    assert probe_source(source, BANK) == ()
    (finding,) = probe_source(source, BANK, w=0.0)
    assert finding.detector == "non-finite"


def test_a_slow_reward_is_a_warning():
    loop = "x = height\nfor i in range(999):\n    x = torch.sin(x) + 0.1 * height\nreturn {'h': x, 'speed': x_velocity}"
    assert detectors(loop)["slow-reward"].severity == "warn"


def test_memory_between_calls_is_told():
    # The language has none; the contract is checked all the same, on calls as they are.
    calls = iter(range(1000))

    def remembers(given):
        return {"h": given["height"] + next(calls)}

    reward = ProbedReward(remembers, ("height",), BANK, ComponentSource(ast.parse("")), remembers(INPUTS))
    assert "not-repeatable" in [finding.detector for finding in check_contract(reward)]


def test_a_single_component_that_varies_has_no_finding():
    assert detectors("return {'only': x_velocity}", "x_velocity") == {}


def test_the_job_answers_for_every_reward_of_its_batch(tmp_path):
    path = tmp_path / "bank.npz"
    save_transitions(path, BANK)
    bodies = {"good": "{'x': x_velocity}", "bad": "{'x': x_velocity.log()}", "not a reward": "eval('1')"}
    rewards = [
        {"candidate_id": id, "source": f"def compute_reward(x_velocity):\n    return {body}\n"}
        for id, body in bodies.items()
    ]
    asked = {"runnable": list(bodies), "skip": ["static"], "card": card().model_dump(mode="json")}
    reviews = review_job({"transitions": str(path), "rewards": rewards} | asked, lambda _: None)["reviews"]
    assert reviews["good"]["findings"] == []
    assert reviews["bad"]["findings"][0]["detector"] == "non-finite"
    assert reviews["not a reward"]["findings"][0]["severity"] == "reject"


@pytest.mark.parametrize("content", [None, b"", b"not a bank"])
def test_a_bank_that_cannot_be_read_is_a_usage_error(tmp_path, content):
    path = tmp_path / "bank.npz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match="bank"):
        load_transitions(path)
