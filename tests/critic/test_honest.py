"""Honest rewards for the shipped tasks pass every gate that runs before a training, the real probe among them."""

import pytest

from rewardgen.reward.language import check_language
from rewardgen.reward.signature import check_signature
from tests.critic.banks import probe_source, recorded
from tests.critic.honest import HONEST_FOR

EACH = [(task, style) for task, styles in HONEST_FOR.items() for style in styles]


@pytest.mark.parametrize(("task", "style"), EACH)
def test_an_honest_reward_for_a_shipped_task_is_not_rejected(task, style):
    source, bank = HONEST_FOR[task][style], recorded(task)
    assert check_language(source) == () == check_signature(source, tuple(bank.inputs))
    assert [each for each in probe_source(source, bank) if each.severity == "reject"] == []


def test_there_are_enough_of_them():
    assert len(EACH) >= 50 and min(map(len, HONEST_FOR.values())) >= 8
