"""The attacks of the corpus in `next_stage` and `observe`, and attacks that only `observe` has a use for."""

import re

import pytest
import torch

from rewardgen.reward.contract import RewardError
from rewardgen.reward.language import check_language
from rewardgen.reward.program import compile_reward
from rewardgen.reward.signature import check_signature
from tests.critic.banks import probed, recorded
from tests.security.corpus import ATTACKS

HEAD = "def compute_reward(pole_upright, cart_velocity, action"
PLAIN = 'def compute_reward(pole_upright):\n    return {"up": pole_upright}\n\n'
STAGES = 'STAGES = ("first", "second")\n\n' + PLAIN
OBSERVED = 'OBSERVED = ("one",)\n\n' + PLAIN
INPUTS = ("pole_upright", "cart_velocity", "action", "prev_action")
AT_THE_SOURCE = [name for name, attack in ATTACKS.items() if attack.gate == "source" and HEAD in attack.source]


def refused(source: str) -> bool:
    return bool(check_language(source) or check_signature(source, INPUTS))


@pytest.mark.parametrize("name", AT_THE_SOURCE)
def test_attacks_that_reading_refuses_are_refused_in_a_transition_too(name):
    source = ATTACKS[name].source
    moved = STAGES + source.replace(HEAD, HEAD.replace("compute_reward(", "next_stage(stage, "))
    assert refused(source) and refused(moved)


@pytest.mark.parametrize("name", AT_THE_SOURCE)
def test_attacks_that_reading_refuses_are_refused_in_an_observation_too(name):
    source = ATTACKS[name].source
    moved = source.replace(HEAD, HEAD.replace("compute_reward(", "observe("))
    moved = OBSERVED + re.sub(r"\baction\b", "prev_action", moved)
    assert refused(source) and refused(moved)
    assert {finding.detector for finding in check_language(source)} <= {
        *(finding.detector for finding in check_language(moved))
    }


def test_the_plain_reward_around_them_is_not_what_is_refused():
    transition = "def next_stage(stage, pole_upright, cart_velocity, action):\n    return stage\n"
    observation = "def observe(pole_upright, cart_velocity, prev_action):\n    return pole_upright.unsqueeze(-1)\n"
    assert len(AT_THE_SOURCE) > 100 and not refused(STAGES + transition) and not refused(OBSERVED + observation)


def observing(body: str, before: str = "", parameters: str = "pole_upright") -> str:
    return f"{before}\n{OBSERVED}\ndef observe({parameters}):\n    {body}\n"


REMEMBERS = {
    "a list": observing("SEEN.append(1.0)\n    return (pole_upright * len(SEEN)).unsqueeze(-1)", "SEEN = [0.0]"),
    "an entry": observing("SEEN[0] = SEEN[0] + 1.0\n    return (pole_upright * SEEN[0]).unsqueeze(-1)", "SEEN = [0.0]"),
    "a tensor": observing("SEEN.add_(1.0)\n    return (pole_upright * SEEN).unsqueeze(-1)", "SEEN = torch.zeros(1)"),
    "an attribute": observing("observe.n = 1.0\n    return (pole_upright * observe.n).unsqueeze(-1)"),
    "a global": observing(
        "global SEEN\n    SEEN = SEEN + 1.0\n    return (pole_upright * SEEN).unsqueeze(-1)", "SEEN = 0"
    ),
    "its input": observing("pole_upright.add_(1.0)\n    return pole_upright.unsqueeze(-1)"),
    "its input by name": observing("pole_upright += 1.0\n    return pole_upright.unsqueeze(-1)"),
}


@pytest.mark.parametrize("name", REMEMBERS)
def test_an_observation_that_remembers_is_refused_or_forgets(name):
    try:
        program = compile_reward(REMEMBERS[name])
        inputs = {"pole_upright": torch.ones(2)}
        first, second = (program.look(inputs, torch.zeros(2, dtype=torch.int64)) for _ in range(2))
    except RewardError:
        return
    assert torch.equal(first, second) and inputs["pole_upright"].tolist() == [1.0, 1.0]


MACHINE = """
STAGES = ("first", "second")


def next_stage(stage, pole_upright):
    return torch.where(pole_upright > 0.0, 1, stage)

"""
SIGNALS = {
    "the next row": observing("return pole_upright.roll(1, 0).unsqueeze(-1)"),
    "all rows": observing("return (pole_upright - pole_upright.mean()).unsqueeze(-1)"),
    "a row by its number": observing("return (pole_upright + 0.0 * pole_upright[:1] + pole_upright[0]).unsqueeze(-1)"),
    "a sum over rows": observing("return pole_upright.cumsum(0).unsqueeze(-1)"),
    "the number of envs": observing("return (pole_upright * pole_upright.shape[0]).unsqueeze(-1)"),
    "the rank among rows": observing("return pole_upright.argsort().float().unsqueeze(-1)"),
    "stages of others": observing(
        "return (stage.float().mean() + pole_upright).unsqueeze(-1)", MACHINE, "pole_upright, stage"
    ),
    "the stage of the next": observing(
        "return (stage.roll(1, 0) + pole_upright).unsqueeze(-1)", MACHINE, "pole_upright, stage"
    ),
}


@pytest.mark.parametrize("name", SIGNALS)
def test_an_observation_that_signals_to_other_envs_is_rejected_before_training(name):
    if not refused(SIGNALS[name]):
        assert "batch-dependent" in probed(recorded("cartpole"), SIGNALS[name])
