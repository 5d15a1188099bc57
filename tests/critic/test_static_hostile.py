"""The static gate works in the orchestrator, on texts that nobody has refused yet: none of them may cost it much."""

import ast
import resource
import sys

import pytest

from rewardgen.critic.gates import review_source
from rewardgen.critic.static.reading import read_reward
from rewardgen.records import Candidate
from tests.builders import card
from tests.sandbox.confined import in_child, was_refused

HELPERS = "\n".join(f"def f{n}(x):\n    return f{n - 1}(f{n - 1}(x))\n" for n in range(1, 26))
TEXTS = {
    "power of integers": "x = 7 ** 10 ** 8",
    "tower of powers": "x = 9 ** 9 ** 9 ** 9",
    "digits that cannot be printed": "x = 1000000000 ** 1000",
    "literal beyond all floats": f"x = {'9' * 400} + 1.0",
    "long text": 'x = "x" * 1000000000',
    "wide format": 'x = "%1000000000d" % 1',
    "text that doubles": 'x = "a"\n' + 'x = f"{x}{x}"\n' * 60,
    "list that doubles": "x = [1.0]\n" + "x = x + x\n" * 60,
    "list of itself": "x = [1.0]\n" + "x = [x, x]\n" * 60,
    "tensor that doubles": "x = position\n" + "x = x + x\n" * 300,
    "parts of a large tensor": "x = torch.zeros(1000000000).unbind()",
    "loops in loops": "x = 0.0\nfor a in range(99):\n  for b in range(99):\n    for c in range(99):\n      x = x + a",
    "helpers that call helpers": "x = f25(position)",
}


def reward(body):
    indented = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    helpers = f"def f0(x):\n    return x * 1.5\n\n{HELPERS}\n" if "f25" in body else ""
    return f"{helpers}def compute_reward(position):\n{indented}    return {{'p': position}}\n"


def few():
    """Little memory and CPU time."""
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_DATA, (2 << 30, 2 << 30))
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))


@pytest.mark.parametrize("name", TEXTS)
def test_a_hostile_text_is_read_in_little_time_and_memory(name):
    candidate = Candidate(id="a", generation=0, operator="draft", source=reward(TEXTS[name]))
    outcome = in_child(few, lambda: len(review_source(candidate, card())))
    assert isinstance(outcome.answer, int) and not was_refused(outcome.answer), outcome


def test_small_constants_are_still_computed():
    source = reward("x = 2 ** 10\ny = 'a' + 'b'")
    reading = read_reward(ast.parse(source), source, card())
    assert reading and {each.name: each.value.constant for each in reading.assignments} == {"x": 1024, "y": "ab"}
