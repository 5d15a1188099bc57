"""The gates stand in order of cost, and a candidate meets a later one only after the earlier ones."""

import pytest

from rewardgen.critic.critic import Critic
from rewardgen.store.records import Candidate
from tests.builders import card
from tests.critic.reviews import FakeReviewer

SOUND = "def compute_reward(position, speed):\n    return {'near': -position.abs(), 'calm': -0.1 * speed.abs()}\n"


def candidate(id, source=SOUND, failure=""):
    return Candidate(id=id, generation=0, operator="draft", source=source, failure=failure)


def verdicts_on(drafts, reviewer=None):
    return Critic(reviewer or FakeReviewer(), compares=False).review(drafts, card()).verdicts


def test_survivors_are_probed_together_and_the_others_not_at_all():
    reviewer = FakeReviewer()
    drafts = [
        candidate("g00-k0"),
        candidate("g00-k1", "def compute_reward(position):\n    while True: pass\n"),
        candidate("g00-k2", "def compute_reward(positon):\n    return {'p': positon}\n"),
        candidate("g00-k3"),
    ]
    verdicts = verdicts_on(drafts, reviewer)
    assert reviewer.probed == [["g00-k0", "g00-k3"]]
    assert [id for id, verdict in verdicts.items() if verdict.accepted] == ["g00-k0", "g00-k3"]
    assert verdicts["g00-k1"].rejections[0].gate == "language"
    assert verdicts["g00-k2"].rejections[0].detector == "unknown-input"


def test_a_finding_of_the_probe_rejects_its_candidate_only():
    reviewer = FakeReviewer(rejects=lambda reward: reward.candidate_id == "b")
    verdicts = verdicts_on([candidate("a"), candidate("b")], reviewer)
    assert verdicts["a"].accepted and not verdicts["b"].accepted


def test_a_reply_without_code_is_rejected_in_the_designers_words():
    reviewer = FakeReviewer()
    verdict = verdicts_on([candidate("a", "", "the reply holds no code")], reviewer)["a"]
    assert (verdict.rejections[0].detector, verdict.rejections[0].message) == ("no-code", "the reply holds no code")
    assert reviewer.probed == []


@pytest.mark.parametrize(
    "source",
    [
        "def reward(position):\n    return {'p': position}\n",
        "class Reward:\n    def compute_reward(self, position):\n        return {'p': position}\n",
        "async def compute_reward(position):\n    return {'p': position}\n",
        "compute_reward = lambda position: {'p': position}\n",
        "x = 1\n",
    ],
)
def test_code_without_the_function_at_its_top_level_is_rejected_and_told_so(source):
    verdict = verdicts_on([candidate("a", source), candidate("b")])
    assert "missing-entry" in [finding.detector for finding in verdict["a"].rejections]
    assert verdict["b"].accepted


def test_previous_values_and_the_action_are_inputs():
    returned = "{'p': prev_position, 'a': (action - prev_action).sum(-1)}"
    source = f"def compute_reward(prev_position, action, prev_action):\n    return {returned}\n"
    assert verdicts_on([candidate("a", source)])["a"].accepted


def test_one_look_tells_of_the_language_and_of_the_signature_at_once():
    source = "import os\ndef compute_reward(velocity):\n    return {'x': velocity}\n"
    verdict = verdicts_on([candidate("g00-k0", source)])["g00-k0"]
    assert {finding.gate for finding in verdict.rejections} == {"language", "signature"}


def test_without_the_critic_only_the_form_is_checked():
    dead = candidate("a", "def compute_reward(position, speed):\n    return {'alive': position * 0 + 1}\n")
    drafts = [dead, candidate("b", "import os\n" + SOUND), candidate("c", "", "no code")]
    verdicts = Critic(None).review(drafts, card()).verdicts
    assert verdicts["a"].findings == ()
    assert not verdicts["b"].accepted and not verdicts["c"].accepted


def test_a_defect_that_two_gates_see_is_told_once():
    source = "def compute_reward(position):\n    return {'x': position if (position + 1).abs() > 1 else -position}\n"
    verdict = verdicts_on([candidate("a", source)])["a"]
    assert [(finding.gate, finding.detector) for finding in verdict.rejections] == [("language", "tensor-branch")]
