"""The contract with training and the values of components: planted defects are seen, sound rewards are not."""

import ast

import pytest
import torch

from rewardgen.core.errors import UsageError
from rewardgen.critic.probe.contract import check_contract
from rewardgen.critic.probe.probed_reward import ProbedReward
from rewardgen.critic.probe.reward_source import RewardSource
from rewardgen.critic.review_job import review_job
from rewardgen.sim.transitions import TransitionFacts, load_transitions, save_transitions
from rewardgen.tasks.loading import load_task
from rewardgen.tasks.record_transitions import record_transitions
from tests.builders import card, unrelated
from tests.critic.banks import found, of_trap, probe_source
from tests.reward.corpus import HONEST, inputs
from tests.tasks.files import point

INPUTS = inputs(512)
BANK = unrelated(INPUTS)
PARAMETERS = "height, x_velocity, action, position, target, prev_height"


def detectors(body, parameters=PARAMETERS, bank=BANK):
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
    assert detectors("return {'only': x_velocity}", "x_velocity") == {}


def test_a_term_that_is_computed_and_left_out_is_named_with_its_line():
    found_in = detectors("effort = -action.square().sum(-1)\nspeed = x_velocity\nreturn {'speed': speed}")
    assert [*found_in] == ["unused-value"]
    assert "`effort`" in found_in["unused-value"].message and found_in["unused-value"].line == 2


@pytest.mark.parametrize("style", HONEST)
def test_no_honest_reward_is_rejected(style):
    findings = probe_source(HONEST[style], BANK)
    assert [finding for finding in findings if finding.severity == "reject"] == []


def test_an_exception_has_its_line_and_a_wrong_shape_its_component():
    detector, finding = only("x = action[:, 5]\nreturn {'h': height + x}")
    assert (detector, finding.severity, finding.line) == ("probe-exception", "reject", 2)
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
def test_a_value_that_is_not_finite_is_rejected_with_the_place(body, where):
    detector, finding = only(body)
    assert (detector, finding.severity, finding.component) == ("non-finite", "reject", "bad")
    assert where in finding.message and finding.line


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


@pytest.mark.parametrize(
    "bad", ["height - height.mean()", "height / height.abs().max().clamp(min=1e-6)", "height.cumsum(0)"]
)
def test_a_reward_that_mixes_envs_is_rejected(bad):
    detector, finding = only(f"return {{'speed': x_velocity, 'bad': {bad}}}")
    assert (detector, finding.severity, finding.component) == ("batch-dependent", "reject", "bad")


def test_a_reward_that_only_works_for_many_envs_is_rejected():
    detector, finding = only("return {'h': height + action.squeeze()[:, 0] + x_velocity[1]}")
    assert detector in ("probe-exception", "batch-dependent") and "batch of" in finding.message


def test_no_component_that_varies_is_a_rejection():
    detector, finding = only("return {'alive': torch.ones_like(height), 'bonus': (height > 99.0).float()}")
    assert (detector, finding.severity) == ("no-signal", "reject")
    assert "`alive` = 1" in finding.message


@pytest.mark.parametrize(
    ("term", "detector"),
    [
        ("torch.ones_like(height)", "constant-component"),
        ("(height < 99.0).float()", "constant-component"),
        ("torch.exp(-position.norm(dim=-1) / 0.002)", "dead-component"),
        ("(height > 99.0).float()", "dead-component"),
        ("torch.where(height > 99.0, 10.0, 0.0)", "dead-component"),
        ("1e-5 * height.abs()", "dead-component"),
        ("100.0 * height.abs()", "dominant-component"),
    ],
)
def test_a_component_that_cannot_guide_is_a_warning(term, detector):
    findings = detectors(SOUND.replace("{'speed'", f"{{'term': {term}, 'speed'"))
    assert findings[detector].severity == "warn" and findings[detector].component == "term"
    assert all(finding.severity == "warn" for finding in findings.values())


@pytest.mark.parametrize(
    ("task", "parameters", "terms"),
    [
        (
            "hopper",
            "x_velocity, height, action",
            "'v': x_velocity, 'a': action.sum(-1), 'bonus': 5.0 * (x_velocity > 1.5).float()",
        ),
        (
            "hopper",
            "x_velocity, height, action",
            "'v': x_velocity, 'a': action.sum(-1), 'fell': -5.0 * (height < 0.7).float()",
        ),
        ("hopper", "x_velocity, healthy", "'up': healthy, 'v': 0.02 * x_velocity.square()"),
        pytest.param(
            "half_cheetah",
            "x_velocity, upright",
            "'v': 0.05 * x_velocity, 'flip': -50.0 * torch.relu(0.5 - upright)",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_term_for_some_kind_of_states_is_neither_dead_nor_dominant(task, parameters, terms):
    assert not {"dead-component", "dominant-component"} & set(found(task, parameters, f"return {{{terms}}}"))


def test_the_trap_of_the_threshold_is_seen_and_its_sound_reward_passes():
    assert of_trap("threshold", "naive_reward")["dead-component"].component == "lifted"
    assert of_trap("threshold", "sound_reward") == {}


FLAGS = (
    (
        '    velocity = Var("m/s", "velocity along the rail")\n',
        '    velocity = Var("m/s", "velocity along the rail")\n'
        '    touching = Var("1", "1 while the point touches the stop, else 0")\n'
        '    free = Var("1", "whether nothing holds the point")\n'
        '    dent = Var("m", "depth of the dent in the stop")\n',
    ),
    (
        '"velocity": sim.qvel[:, 0]}',
        '"velocity": sim.qvel[:, 0], **dict.fromkeys(("touching", "dent"), 0.0 * sim.qpos[:, 0]),'
        ' "free": 1.0 + 0.0 * sim.qpos[:, 0]}',
    ),
)


@pytest.fixture(scope="module")
def flagged(tmp_path_factory):
    """Transitions of a point that never touched the stop, that nothing ever held, and that left no dent."""
    return record_transitions(load_task(point(tmp_path_factory.mktemp("flags"), *FLAGS)))


@pytest.mark.parametrize(
    ("term", "detectors"),
    [
        ("(touching > 0.5).float()", set()),
        ("((touching > 0.5) & (free < 0.5)).float()", set()),
        ("((touching > 0.1) & (prev_touching < 0.1)).float()", set()),
        ("0.5 * touching", set()),
        ("-0.1 * (free > 0.5).float()", set()),
        ("(touching > 1.5).float()", {"dead-component"}),
        ("((touching > 0.5) & (position > 50.0)).float()", {"dead-component"}),
        ("(dent > 0.5).float()", {"dead-component"}),
        ("position / (1.0 - touching)", {"non-finite"}),
    ],
)
def test_a_flag_may_change_though_it_was_never_recorded_otherwise(flagged, term, detectors):
    terms = f"'near': 2.0 * torch.exp(-position.abs()), 'slow': 1.0 / (1.0 + velocity.square()), 'term': {term}"
    findings = found(flagged, "position, velocity, touching, free, prev_touching, dent", f"return {{{terms}}}")
    assert {name for name, finding in findings.items() if finding.component == "term"} == detectors


def test_memory_between_calls_is_rejected():
    # The language has none; the contract is checked all the same, on the calls.
    calls = iter(range(1000))

    def remembers(rows):
        return {"h": rows["height"] + next(calls)}

    reward = ProbedReward(remembers, ("height",), BANK, RewardSource(ast.parse("")), remembers(INPUTS))
    assert "not-repeatable" in [finding.detector for finding in check_contract(reward)]


def test_the_job_answers_for_every_reward_of_its_batch(tmp_path):
    path = tmp_path / "bank.npz"
    save_transitions(path, BANK)
    bodies = {"good": "{'x': x_velocity}", "bad": "{'x': x_velocity.log()}", "not a reward": "eval('1')"}
    rewards = [
        {"candidate_id": id, "source": f"def compute_reward(x_velocity):\n    return {body}\n"}
        for id, body in bodies.items()
    ]
    payload = {"transitions": str(path), "rewards": rewards, "card": card().model_dump(mode="json")}
    reviews = review_job(payload, lambda _: None)["reviews"]
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
