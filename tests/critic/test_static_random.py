"""The static detectors on any text: no exception, and work in proportion to its length."""

import ast
import random
import sys

import pytest

from rewardgen.critic.static.detectors import find_suspicions
from rewardgen.critic.static.reading import parse_reward
from rewardgen.reward.language import check_language
from rewardgen.reward.parsing import parse_source
from rewardgen.reward.signature import check_signature
from tests.critic.random_rewards import random_reward
from tests.critic.walker import reward, walker_card
from tests.reward.corpus import HONEST

CARD = walker_card()
LONGEST = {
    "assignments": "\n".join(f"x{n} = height + {n}.0" for n in range(700)),
    "one name": "\n".join(["x = height * 2.0"] * 700),
    "a chain": "x0 = height\n" + "\n".join(f"x{n + 1} = x{n}" for n in range(1000)),
    "a chain backwards": "\n".join(f"x{n} = x{n + 1}" for n in range(1000, 0, -1)) + "\nx1001 = height",
    "a sum": "x = " + " + ".join(["height"] * 70) + "\ny = -w * " + " * ".join(["w"] * 70),
    "nested blocks": "".join(f"{'  ' * n}if height.shape[0] > {n}:\n" for n in range(30)) + "  " * 30 + "x = height",
    "functions": "\n".join(f"f{n} = lambda x: x + height" for n in range(400)),
}
WORK = 30
"""Calls of Python functions per character of the longest text that parses."""


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
        assert parse_reward(source, CARD) is not None
        assert isinstance(find_suspicions(source, CARD), tuple)


@pytest.mark.parametrize("seed", range(40))
def test_damaged_rewards_are_read_without_an_exception(seed):
    draw = random.Random(seed)
    source = list(draw.choice(sorted(HONEST.values())))
    for _ in range(draw.randint(1, 20)):
        place = draw.randrange(len(source))
        source[place : place + draw.randint(0, 8)] = draw.choices("()[]{}:=*+-\n .,'ab01", k=draw.randint(0, 4))
    assert isinstance(find_suspicions("".join(source), CARD), tuple)


@pytest.mark.parametrize("body", LONGEST.values(), ids=LONGEST)
def test_the_longest_texts_that_parse_are_read_in_work_in_proportion_to_their_length(body):
    source = reward(f"{body}\nreturn {{'h': height}}", "height, *, w: float = -1.0")
    assert isinstance(parse_source(source), ast.Module)
    found, calls = counted(lambda: find_suspicions(source, CARD))
    assert isinstance(found, tuple)
    assert calls < WORK * 24_000, calls
