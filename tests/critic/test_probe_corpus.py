"""Rewards that a good engineer would train with, written without knowledge of the detectors, are not rejected."""

import re
from pathlib import Path

import pytest

from rewardgen.reward.language import check_language
from tests.critic.banks import probed, recorded

SOUND = sorted((Path(__file__).parent / "corpus" / "sound").glob("*.py"))


@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.stem)
def test_a_sound_reward_is_not_rejected_by_the_probe(path):
    source = path.read_text()
    if check_language(source):
        pytest.skip("not in the reward language")
    named = re.search(r"^# task: *(\S+)", source, re.MULTILINE)
    assert named is not None
    findings = probed(recorded(named[1]), source).values()
    assert [finding.message for finding in findings if finding.severity == "reject"] == []
