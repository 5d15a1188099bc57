"""The static gate as a whole: silent on honest rewards, and never at a loss."""

import pytest

from rewardgen.critic.static.detectors import find_suspicions
from tests.critic.walker import findings, walker_card
from tests.reward.corpus import HONEST

WARNED = {"augmented assignment": ["augmented-input"]}
"""Honest styles with a habit that the gate does warn of."""


@pytest.mark.parametrize("style", sorted(HONEST))
def test_nothing_is_found_in_honest_rewards_but_habits_that_are_warned_of(style):
    found = findings(HONEST[style])
    assert [each.detector for each in found] == WARNED.get(style, [])
    assert all(each.severity == "warn" for each in found)


def test_findings_come_in_the_order_of_their_lines():
    source = "def compute_reward(height, pitch):\n    a = height.abs()\n    height *= 2.0\n    return {'c': height}\n"
    lines = [each.line or 0 for each in findings(source)]
    assert lines == [1, 2, 3]


@pytest.mark.parametrize(
    "source",
    [
        "",
        "def (",
        "x = 1\n",
        "def compute_reward(a):\n    pass\ndef compute_reward(b):\n    pass\n",
        "def compute_reward(*a, **k):\n    return a\n",
        "def compute_reward(height):\n    return compute_reward(height)\n",
        "def compute_reward(height):\n    return [x for x in height][0][1](2)\n",
        "class A:\n    pass\ndef compute_reward(self):\n    while True:\n        self.x += 1\n",
        "def compute_reward(height):\n    x = 10.0 ** 400 / 0.0\n    return {x: 1 % 0, 'b': (-8) ** 0.5, **height}\n",
        "def compute_reward(height, *, w: float = oops):\n    return {'c': height[..., ..., 7] * w.x[1:2:3]}\n",
        "f = lambda *a: f(a)\ndef compute_reward(height):\n    return {'c': f(height), 'd': sum()}\n",
        "def compute_reward(height):\n    a, (b, c), *d = height\n    return {'c': a @ b, 'd': d, 'e': max([])}\n",
        "def compute_reward(h):\n    for i in range(10 ** 9):\n        h = h + i\n    return {'c': h}\n",
        "def compute_reward(height):\n    return {'c': height.sum(5).squeeze(9).unbind(3), 'd': torch.stack([])}\n",
    ],
)
def test_any_text_is_read_without_an_error(source):
    assert isinstance(find_suspicions(source, walker_card()), tuple)
