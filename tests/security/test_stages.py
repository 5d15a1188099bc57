"""The attacks of the corpus in `next_stage`, the second function that a reward may have."""

import pytest

from rewardgen.reward.language import check_language
from rewardgen.reward.signature import check_signature
from tests.security.corpus import ATTACKS

HEAD = "def compute_reward(pole_upright, cart_velocity, action"
PLAIN = 'STAGES = ("first", "second")\n\ndef compute_reward(pole_upright):\n    return {"up": pole_upright}\n\n'
INPUTS = ("pole_upright", "cart_velocity", "action")
AT_THE_SOURCE = [name for name, attack in ATTACKS.items() if attack.gate == "source" and HEAD in attack.source]


def refused(source: str) -> bool:
    return bool(check_language(source) or check_signature(source, INPUTS))


@pytest.mark.parametrize("name", AT_THE_SOURCE)
def test_attacks_that_reading_refuses_are_refused_in_a_transition_too(name):
    source = ATTACKS[name].source
    moved = PLAIN + source.replace(HEAD, HEAD.replace("compute_reward(", "next_stage(stage, "))
    assert refused(source) and refused(moved)


def test_the_plain_reward_around_them_is_not_what_is_refused():
    transition = "def next_stage(stage, pole_upright, cart_velocity, action):\n    return stage\n"
    assert len(AT_THE_SOURCE) > 100 and not refused(PLAIN + transition)
