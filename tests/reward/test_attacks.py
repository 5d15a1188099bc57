"""Every forbidden construct is refused by its detector, before anything runs."""

import pytest
import torch

from rewardgen.reward.language import check_language
from rewardgen.reward.program import RewardError, compile_reward
from tests.reward.attacks import BODY, WHOLE, source

REFUSED = {name: (source(body), detector) for name, (body, detector) in BODY.items()} | WHOLE


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_an_attack_is_refused_with_its_line_and_a_remedy_and_never_becomes_a_working_program(name):
    text, detector = REFUSED[name]
    findings = check_language(text)
    if detector is not None:  # else it is seen as it runs
        assert detector in [finding.detector for finding in findings], findings
    assert all(each.severity == "reject" and each.hint and each.message and each.line for each in findings)
    with pytest.raises(RewardError):
        compile_reward(text)({"height": torch.ones(4)})


def test_a_refusal_names_line_construct_and_remedy():
    text = "def compute_reward(height):\n    while True:\n        pass\n    return {'h': height}\n"
    (finding,) = check_language(text)
    assert (finding.gate, finding.detector, finding.line) == ("language", "forbidden-construct", 2)
    assert "`while`" in finding.message
    assert "torch function over the whole batch" in finding.hint


def test_a_misspelt_method_is_answered_with_the_nearest_one():
    (finding,) = check_language("def compute_reward(height):\n    return {'h': height.clmap(0.0, 1.0)}\n")
    assert "`.clamp()`" in finding.hint


@pytest.mark.parametrize(
    "name", ["torch.one_hots_of", "torch.unique", "torch.nonzero", "torch.scatter_add", "F.grid_sample"]
)
def test_a_name_that_is_like_none_is_answered_without_one(name):
    (finding,) = check_language(f"def compute_reward(height):\n    return {{'h': {name}(height)}}\n")
    assert "did you mean" not in finding.hint and finding.hint


@pytest.mark.parametrize(
    ("name", "meant"),
    [("torch.maximun", "torch.maximum"), ("F.onehot", "torch.nn.functional.one_hot"), ("torch.clmp", "torch.clamp")],
)
def test_a_misspelt_function_is_answered_with_the_one_that_is_meant(name, meant):
    (finding,) = check_language(f"def compute_reward(height):\n    return {{'h': {name}(height)}}\n")
    assert f"`{meant}`" in finding.hint


def test_all_refusals_of_a_reward_are_listed_in_the_order_of_lines():
    text = source("x = eval('1')\nx = torch.load(height)\nimport os")
    assert [finding.detector for finding in check_language(text)] == [
        "unknown-function",
        "unknown-function",
        "forbidden-import",
    ]
