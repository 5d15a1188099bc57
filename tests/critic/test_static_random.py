"""The static reading of any legal reward: no exception, bounded work, and the rest of it is still read."""

import ast
import sys

import pytest

from rewardgen.critic.static.detectors import find_suspicions
from rewardgen.critic.static.expressions import _MAX_EVALUATIONS
from rewardgen.critic.static.reading import read_reward
from rewardgen.reward.language import check_language
from rewardgen.reward.signature import check_signature
from tests.critic.random_rewards import random_reward
from tests.critic.walker import findings, of, reward, walker_card

CARD = walker_card()
LOOPS = "for a in range(40):\n  for b in range(40):\n    for c in range(40):\n"
IN_LOOPS = {
    "a sum": "      x = x + height",
    "a sum of terms that differ": "      x = x + (height - a * b * c).abs()",
    "scaled": "      x = x * 0.5\n      y = y + torch.tanh(x)",
    "sizes": "      x = x * 0.5\n      y = y + x.abs()",
    "divided": "      x = x / (y + x)",
    "exponentials": "      y = y + torch.exp(x)\n      x = x + height",
    "choices": "      x = torch.where(x > y, x + 1.0, torch.exp(x))",
    "equalities": "      y = y + (x == 0.5)\n      x = x + pitch",
    "unused": "      q = x + height",
    "stacks": "      x = torch.stack([x, x]).sum(0)",
    "a comprehension": "      x = x + sum([height * i * j for i in range(40) for j in range(40)])",
    "a growing dict": "      d[f'k{a}{b}{c}'] = x",
    "branches": "      if height.shape[0] > c:\n        d = {'a': d, 'b': d}",
    "a list": "      q = l + l",
    "left early": "      if height.shape[0] > c:\n        continue\n      x = x + 1.0",
}
DOUBLED = {
    "sums": ("h = height > 1.0", "h = h + h", "y = (h == 0.5)"),
    "tests": ("h = height > 1.0", "h = h & h", "y = 2.0 * h"),
    "dicts": ("h = {'a': x}", "h = {'a': h, 'b': h}", "if height.shape[0] > 1:\n  h = {'a': h}"),
    "lists": ("h = [x]", "h = [h, h]", "if height.shape[0] > 1:\n  h = [h, x]"),
    "branches": ("h = {'a': x}", "if height.shape[0] > 3:\n  h = {'a': h, 'b': {'c': h}}", "y = x"),
    "squares": ("h = pitch", "h = h * h * height", "y = h"),
}
SAID = "z = -height\nreturn {'x': x, 'y': y, 'wrong': 1.0 / pitch}"


def in_loops(body):
    return reward(f"x, y = height, pitch\nd = {{}}\nl = {[1.0] * 500}\n{LOOPS}{body}\n{SAID}")


def doubled(name):
    first, again, last = DOUBLED[name]
    return reward("\n".join(["x, y = height, pitch", first, *[again] * 60, last, SAID]))


def counted(function):
    """What a function gives, and how many others it calls, which counts work independently of the machine."""
    count = 0

    def count_call(frame, event, argument):
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(count_call)
    try:
        result = function()
    finally:
        sys.setprofile(before)
    return result, count


def is_legal(source):
    refused = (*check_language(source), *check_signature(source, CARD.input_names()))
    return all(each.severity == "warn" for each in refused)


@pytest.mark.parametrize("first", range(0, 120, 40))
def test_random_rewards_are_read_without_an_exception(first):
    sources = [random_reward(seed) for seed in range(first, first + 40)]
    legal = [source for source in sources if is_legal(source)]
    assert len(legal) >= 30
    for source in legal:
        assert read_reward(ast.parse(source), source, CARD) is not None
        assert isinstance(find_suspicions(source, CARD), tuple)


@pytest.mark.parametrize("source", [*map(in_loops, IN_LOOPS.values()), *map(doubled, DOUBLED)],
                         ids=[*IN_LOOPS, *DOUBLED])  # fmt: skip
def test_busy_texts_are_read_in_bounded_work_and_what_follows_them_is_still_read(source):
    assert is_legal(source)
    found, calls = counted(lambda: find_suspicions(source, CARD))
    assert calls < 300 * _MAX_EVALUATIONS
    told = [each.detector for each in found]
    assert "unguarded-division" in told and "forgotten-term" in told


def test_a_sum_over_a_grid_keeps_all_its_suspicions():
    body = "x = -height\nfor i in range(21):\n  for j in range(21):\n    x = x + (pitch - 0.1 * i).square() * j\n"
    found = findings(reward(f"{body}return {{'x': x, 'wrong': 1.0 / pitch}}", "height, pitch"))
    assert [each.detector for each in found] == ["rewards-cost", "unguarded-division"]


@pytest.mark.parametrize(
    ("body", "index"),
    [
        ("for i in range(9):\n  if i == 3:\n    break\n  x = x + action[:, i]", ""),
        ("for i in range(9):\n  if i > 2:\n    continue\n  x = x + action[:, i]", ""),
        ("for i in range(9):\n  if i == 4:\n    break\n  x = x + action[:, i]", "action[:, i]"),
        ("for i, name in enumerate(['a', 'b'], 1):\n  x = x + action[:, i]", ""),
        ("for i, name in enumerate(['a', 'b'], 2):\n  x = x + action[:, i]", "action[:, i]"),
        ("for i in sorted([2, 0]):\n  last = i\nx = action[:, last + 1]", "action[:, last + 1]"),
        ("first, *rest = [0, 1, 2]\nx = action[:, len(rest)] + action[:, rest[1] + first]", ""),
        ("places = [0, 9]\nplaces.pop()\nx = action[:, places[-1]]", ""),
    ],
)
def test_loops_that_end_early_and_lists_that_change_are_followed(body, index):
    found = of("index-out-of-range", f"x = height\n{body}\nreturn {{'x': x}}", "height, action")
    assert [each.detector for each in found] == ["index-out-of-range"] * bool(index)
    assert all(index in each.message for each in found)


def test_a_component_that_is_popped_or_set_late_is_known():
    body = (
        "terms = {'x': height, 'total': height}\nterms.pop('total')\nterms.setdefault('y', 1.0 / pitch)\nreturn terms"
    )
    source = reward(body, "height, pitch")
    reading = read_reward(ast.parse(source), source, CARD)
    assert reading is not None and set(reading.components) == {"x", "y"} and reading.complete


def test_what_two_branches_return_is_both_of_them():
    before = "def f(x, w):\n    if x.shape[0] > 3:\n        return x, {'a': 1}\n    return -5.0, {'b': x}\n"
    source = reward("low, parts = f(height.clamp(0.0, 1.0), 1.0)\nreturn {'low': low}", "height", before)
    reading = read_reward(ast.parse(source), source, CARD)
    assert reading is not None and tuple(reading.components["low"].bounds) == (-5.0, 1.0)
