"""Rewards that observe: the form of `observe`, and what it returns."""

from pathlib import Path

import pytest
import torch

from rewardgen.reward.contract import RewardError
from rewardgen.reward.extraction import extract_source
from rewardgen.reward.identity import source_fingerprint
from rewardgen.reward.language import check_language
from rewardgen.reward.observation import eyes_text, observed_names, seen_besides
from rewardgen.reward.pricing import price_rows
from rewardgen.reward.program import compile_reward
from rewardgen.reward.signature import check_signature, read_signature
from rewardgen.tasks.loading import load_task

SEEING = """
OBSERVED = ("distance", "last push")


def observe(x, prev_action, *, width: float = 2.0):
    return torch.stack((width * x, prev_action[:, 0]), -1)


def compute_reward(y, *, weight: float = 1.0):
    return {"y": weight * y}
"""
STAGED = """
STAGES = ("left", "right")
OBSERVED = ("goal",)


def next_stage(stage, x):
    return torch.where(x < -0.5, 1, stage)


def observe(x, stage):
    return (torch.where(stage == 1, 1.0, -1.0) - x).unsqueeze(-1)


def compute_reward(y, stage):
    return {"y": y + stage}
"""
INPUTS = ("x", "y", "action", "prev_x", "prev_y", "prev_action")
BEGIN = torch.zeros(2, dtype=torch.int64)
STATES = {"x": torch.tensor([0.5, -1.0]), "action": torch.tensor([[0.1], [0.2]])}


def checked(source):
    return (*check_language(source), *check_signature(source, INPUTS))


def changed(old, new):
    assert old in SEEING
    return SEEING.replace(old, new)


def test_policies_see_a_column_for_each_name_and_the_last_action():
    assert checked(SEEING) == ()
    seen = compile_reward(SEEING).look(STATES, BEGIN)
    torch.testing.assert_close(seen, torch.tensor([[1.0, 0.1], [-2.0, 0.2]]))


def test_inputs_of_observe_are_none_of_the_pay_and_its_constants_are_tunables():
    signature = read_signature(SEEING)
    assert (signature.inputs, signature.observes) == (("y",), ("x", "action"))
    assert signature.tunables == {"width": 2.0, "weight": 1.0}
    assert price_rows(compile_reward(SEEING), {"y": torch.ones(2)})["y"].tolist() == [1.0, 1.0]


def test_a_reward_with_stages_may_observe_its_stage():
    assert checked(STAGED) == ()
    program = compile_reward(STAGED)
    seen = program.look({"x": torch.zeros(2)}, torch.tensor([0, 1]))
    assert program.staged and seen.tolist() == [[1.0, 0.0, -1.0], [0.0, 1.0, 1.0]]
    assert seen_besides(STAGED) == ("left", "right", "goal") and observed_names(STAGED) == ("goal",)
    assert eyes_text(STAGED).endswith("2 numbers, 1 for the present stage: left, right; then 1 of `observe`: `goal`.")
    assert eyes_text("def compute_reward(y):\n    return {'y': y}\n") == ""


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        ("prev_action", "action", "take `prev_action`"),
        ('OBSERVED = ("distance", "last push")', "", "name its columns"),
        ('"last push"', '"distance"', "name its columns"),
        ('"last push"', ", ".join(f'"n{number}"' for number in range(16)), "name its columns"),
        ("observe(x,", "observe(z,", "inputs are x, y"),
        ("observe(x,", "observe(stage,", "inputs are x, y"),
        ("x, prev_action, *", "*", "parameters"),
    ],
)
def test_a_faulty_form_is_refused_with_a_hint(old, new, hint):
    findings = checked(changed(old, new))
    assert any(hint in finding.hint for finding in findings), findings


def test_a_name_may_be_a_phrase_and_is_marked_where_it_is_listed():
    source = changed('"last push"', '"way left (x), coarse"')
    assert not checked(source)
    assert observed_names(source) == ("distance", "way left (x), coarse")
    assert eyes_text(source) == "Observations end with 2 of `observe`: `distance`, `way left (x), coarse`."


@pytest.mark.parametrize(
    ("returned", "kind"),
    [
        ("x", "shape"),
        ("torch.stack((x, x, x), -1)", "shape"),
        ("torch.stack((x, x), 0)[:1]", "shape"),
        ("(x, x)", "shape"),
        ("torch.stack((x, torch.log(x)), -1)", "non-finite"),
        ("torch.stack((x, x[:1]), -1)", "exception"),
    ],
)
def test_anything_but_a_finite_number_for_each_column_and_env_is_a_failure(returned, kind):
    program = compile_reward(changed("torch.stack((width * x, prev_action[:, 0]), -1)", returned))
    with pytest.raises(RewardError) as caught:
        program.look(
            {"x": torch.tensor([-1.0, 2.0, 3.0]), "action": torch.zeros(3, 1)}, torch.zeros(3, dtype=torch.int64)
        )
    assert caught.value.kind == kind and caught.value.hint


def test_an_input_that_is_unknown_at_the_start_is_named():
    with pytest.raises(RewardError, match="neither is its input `x`") as caught:
        compile_reward(SEEING).look(STATES | {"x": torch.full((2,), torch.nan)}, BEGIN)
    assert "unknown at the start" in caught.value.hint


def test_two_rewards_that_observe_differently_differ():
    assert source_fingerprint(SEEING) != source_fingerprint(changed("width * x", "x"))


RECORDED = Path(__file__).parents[1] / "recorded" / "observation"


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*.md")), ids=lambda path: path.stem)
def test_recorded_drafts_are_accepted_and_observe_where_they_were_allowed(path):
    source = extract_source(path.read_text())
    task = load_task(str(RECORDED / ("orbit.py" if path.stem.startswith("orbit") else "stop_at_six.py")))
    names = (*task.declared(), "action")
    assert not (check_language(source) or check_signature(source, (*names, *(f"prev_{name}" for name in names))))
    assert bool(observed_names(source)) == ("-with-" in path.stem)
