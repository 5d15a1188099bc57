"""Rewards in stages: their memory, their form, and where they are priced."""

from pathlib import Path

import pytest
import torch

from rewardgen.reward.contract import RewardError
from rewardgen.reward.export import reward_file
from rewardgen.reward.extraction import extract_source
from rewardgen.reward.language import check_language
from rewardgen.reward.pricing import price, price_rows
from rewardgen.reward.program import compile_reward
from rewardgen.reward.signature import check_signature, read_signature
from rewardgen.reward.stages import stage_names
from rewardgen.store.records import RewardSpec, SliceSpec
from rewardgen.training.shared.rewards import Rewards

STAGED = """
STAGES = ("left", "right", "left again")


def next_stage(stage, x, *, reach: float = 0.5):
    first = (stage == 0) & (x < -reach)
    second = (stage == 1) & (x > reach)
    return torch.where(first, 1, torch.where(second, 2, stage))


def compute_reward(x, stage, prev_stage, *, weight: float = 1.0):
    goal = torch.where(stage == 1, 1.0, -1.0)
    return {"near": -weight * (x - goal).abs(), "advance": 5.0 * (stage - prev_stage)}
"""
X = torch.tensor([[0.0, 0.9], [-0.6, 0.1], [0.2, -0.9], [0.8, 0.9]])  # four steps of two envs


def checked(source):
    return (*check_language(source), *check_signature(source, ("x", "action")))


def changed(old, new):
    assert old in STAGED
    return STAGED.replace(old, new)


def test_a_stage_is_remembered_from_step_to_step_and_forgotten_with_the_episode():
    assert checked(STAGED) == ()
    components, carry = price(compile_reward(STAGED), {"x": X})
    assert components.stage.tolist() == [[0, 0], [1, 0], [1, 1], [2, 2]]
    assert components["advance"].tolist() == [[0.0, 0.0], [5.0, 0.0], [0.0, 5.0], [5.0, 5.0]]
    assert components["near"][3].tolist() == pytest.approx([-1.8, -1.9])
    assert carry.tolist() == [2, 2]
    begins = torch.tensor([[True, True], [False, False], [True, False], [False, False]])
    components, _ = price(compile_reward(STAGED), {"x": X}, begins)
    assert components.stage.tolist() == [[0, 0], [1, 0], [0, 1], [0, 2]]


def test_rollouts_continue_where_the_last_one_ended():
    program = compile_reward(STAGED)
    whole, _ = price(program, {"x": X})
    first, carry = price(program, {"x": X[:2]})
    second, _ = price(program, {"x": X[2:]}, None, carry)
    assert torch.equal(torch.cat([first.total, second.total]), whole.total)


def test_constants_of_both_functions_are_tunables_of_the_reward():
    signature = read_signature(STAGED)
    assert signature.inputs == ("x",) and signature.tunables == {"weight": 1.0, "reach": 0.5}
    program = compile_reward(STAGED)
    components, _ = price(program, {"x": X}, tunables={"reach": 0.85, "weight": 2.0})
    assert components.stage.tolist() == [[0, 0], [0, 0], [0, 1], [0, 2]]


def test_unrelated_rows_are_priced_in_the_stage_that_they_lead_to_if_they_last():
    rows = price_rows(compile_reward(STAGED), {"x": torch.tensor([0.0, -0.6, 0.8])})
    assert rows.stage.tolist() == [0, 1, 0]
    assert rows["advance"].tolist() == [0.0, 0.0, 0.0]


def test_a_slice_has_the_same_stages_alone_and_among_others():
    generator = torch.Generator().manual_seed(1)
    inputs = {
        "x": torch.randn(6, 8, generator=generator),
        "action": torch.randn(6, 8, 2, generator=generator),
    }
    specs = [SliceSpec(candidate_id=name, seed=0) for name in ("pure", "staged")]
    sources = {"pure": "def compute_reward(x):\n    return {'x': x}\n", "staged": STAGED}
    rewards = [RewardSpec(candidate_id=name, source=source) for name, source in sources.items()]
    begins = torch.zeros(6, 8, dtype=torch.bool)
    begins[0] = True
    both = Rewards(rewards, specs, {"x", "action"}).price(inputs, [True, True], begins)
    half = {name: value[:, 4:] for name, value in inputs.items()}
    alone = Rewards(rewards[1:], specs[1:], {"x", "action"}).price(half, [True], begins[:, 4:])
    assert torch.equal(both.total[:, 1], alone.total[:, 0]) and not both.faults


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ("stage + 1", "no stage: they are 0 to 2"),
        ("stage - 1", "no stage"),
        ("stage + 0.5", "no stage"),
        ("stage[:1]", "expected a stage for each env"),
        ("1", "returned int"),
    ],
)
def test_what_is_no_stage_fails_the_reward(returned, message):
    program = compile_reward(changed("torch.where(first, 1, torch.where(second, 2, stage))", returned))
    with pytest.raises(RewardError, match=message) as caught:
        price(program, {"x": X})
    assert caught.value.hint


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('STAGES = ("left", "right", "left again")', "", "no tuple `STAGES`"),
        ('("left", "right", "left again")', '("left", "left")', "expected 2 to 8 different short names"),
        ('("left", "right", "left again")', '("left",)', "expected 2 to 8 different short names"),
        ('"left again"', '"left\\n## again"', "expected 2 to 8 different short names"),
        ('"left again"', "3", "expected 2 to 8 different short names"),
        ("def next_stage(stage, x", "def next_stage(x", "without `stage`"),
        ("def next_stage(stage, x", "def next_stage(stage, prev_stage, x", "with `prev_stage`"),
        ("def next_stage(stage, x", "def next_stage(stage, y", "`y`, which the task does not have"),
        ("def next_stage", "def further_stage", "`stage`, which the task does not have"),
    ],
)
def test_a_faulty_form_is_refused_with_a_hint(old, new, message):
    findings = checked(changed(old, new))
    assert any(message in finding.message and finding.hint for finding in findings), findings


def test_pure_rewards_have_no_stages():
    assert stage_names(STAGED) == ("left", "right", "left again")
    assert stage_names("STAGES = ('a', 'b')\ndef compute_reward(x):\n    return {'x': x}\n") == ()
    components, _ = price(compile_reward("def compute_reward(x):\n    return {'x': x}\n"), {"x": X})
    assert components.stage is None


def test_an_exported_file_remembers_the_stage_from_call_to_call():
    module = {}
    exec(reward_file(STAGED), module)
    expected, _ = price(compile_reward(STAGED), {"x": X})
    stage = None
    for step, x in enumerate(X):
        total, parts, stage = module["reward_and_components"]({"x": x}, stage=stage)
        assert torch.equal(total, expected.total[step]) and parts.keys() == expected.keys()
    assert stage.tolist() == [2, 2]


RECORDED = Path(__file__).parents[1] / "recorded" / "stages"


_STACK = ("to_upper", "stack", "grip_velocity", "upper_velocity", "upright", "opening", "left_touch", "right_touch")
INPUTS = {"stages": ("position", "velocity", "action"), "stack_two": (*_STACK, "action")}


@pytest.mark.parametrize("path", sorted(RECORDED.rglob("*.md")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_recorded_rewards_are_accepted_and_use_stages_only_where_they_were_allowed(path):
    source, inputs = extract_source(path.read_text()), INPUTS[path.parent.name]
    inputs = (*inputs, *(f"prev_{name}" for name in inputs))
    assert not (check_language(source) or check_signature(source, inputs))
    without = path.stem.startswith("pure") or (path.parent.name, path.stem) == ("stack_two", "staged-0")
    assert bool(stage_names(source)) != without
