"""The static gate reads texts that nobody has refused yet: none may cost us anything, or a worker much."""

import re
import resource
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from rewardgen.critic.gates import Critic, check_form
from rewardgen.critic.review import SandboxedReviewer
from rewardgen.critic.static import detectors as static_reading
from rewardgen.critic.static.detectors import find_suspicions
from rewardgen.reward.identity import source_fingerprint
from rewardgen.reward.parsing import parse_source
from rewardgen.sandbox.process import Limits
from rewardgen.sim.transitions import save_transitions
from rewardgen.store.records import Candidate, Finding
from tests.builders import card, unrelated
from tests.critic.reviews import review_source, static_detector
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

BUSY = {
    "differences that double": "d = position - prev_position\n" + "d = d + d\n" * 30 + "x = position / d",
    "a chain of operations": "x = position\nfor a in range(25):\n  for b in range(10):\n    x = x + position",
    "loops in a comprehension": "x = sum([position for a in range(40) for b in range(40) for c in range(40)"
    " for d in range(40)])",
    "dictionaries that double": "d = {'a': position}\ne = {'a': 2 * position}\n"
    + "d = {'a': d, 'b': d}\ne = {'a': e, 'b': e}\n" * 30
    + "f = d if position.shape[0] > 5 else e",
    "a range without a step": "x = position\nfor i in range(0, 3, 0):\n    x = x + i",
    "an infinite integer": "x = position * int(float('inf'))",
    "an infinite power": "x = position ** 1e999",
    "a slice as a key": "d = {'a': position}\nx = d[slice(0, 1)]",
}
LONG = {
    "added": f"x = position + (0x{'F' * 8000} + 1)",
    "compared": f"x = position\nif torch.any(x > 0x{'F' * 8000}):\n    x = x * 2",
}


def reward(body):
    indented = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    helpers = f"def f0(x):\n    return x * 1.5\n\n{HELPERS}\n" if "f25" in body else ""
    inputs = "position, prev_position" if "prev_position" in body else "position"
    paid = "x" if body in BUSY.values() and "x =" in body else "position"
    return f"{helpers}def compute_reward({inputs}):\n{indented}    return {{'p': {paid}}}\n"


def draft(id, source):
    return Candidate(id=id, generation=0, operator="draft", source=source)


@pytest.fixture
def reviewer(tmp_path):
    values = {name: torch.linspace(-1.0, 1.0, 256) for name in ("position", "speed")}
    values["action"] = torch.linspace(-1.0, 1.0, 256).unsqueeze(-1)
    save_transitions(
        tmp_path / "bank.npz", unrelated(values | {f"prev_{name}": value for name, value in values.items()})
    )
    return SandboxedReviewer(tmp_path / "bank.npz", Limits(wall_s=60.0), tmp_path / "scratch")


def few():
    """Little memory, beside what other tests have left in this process, and little CPU time."""
    if sys.platform == "linux":
        (used,) = re.findall(r"VmData:\s+(\d+) kB", Path("/proc/self/status").read_text())
        most = (int(used) << 10) + (1 << 30)
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))


@pytest.mark.parametrize("name", TEXTS)
def test_a_hostile_text_is_read_in_little_time_and_memory(name):
    candidate = draft("a", reward(TEXTS[name]))
    outcome = in_child(few, lambda: len(review_source(candidate, card())))
    assert isinstance(outcome.answer, int) and not was_refused(outcome.answer), outcome


def test_texts_that_would_keep_their_reader_busy_or_fail_it_are_read_and_disturb_no_other(reviewer):
    drafts = [draft(name.replace(" ", "-"), reward(body)) for name, body in BUSY.items()]
    plain = draft("plain", "def compute_reward(position, speed):\n    return {'near': -position.abs()}\n")
    verdicts = Critic(reviewer, compares=False).review([*drafts, plain], card()).verdicts
    assert list(verdicts) == [each.id for each in (*drafts, plain)]
    assert [id for id, each in verdicts.items() if "not-read" in [found.detector for found in each.findings]] == []
    assert verdicts["plain"].accepted
    assert [each.detector for each in verdicts["plain"].findings] == ["unused-input"]


@pytest.mark.parametrize("name", LONG)
def test_an_integer_that_no_float_can_hold_is_refused_when_the_text_is_parsed(name):
    (found,) = check_form(draft("a", reward(LONG[name])), card())
    assert (found.gate, found.detector) == ("parse", "forbidden-literal")


def test_a_constant_that_no_float_can_hold_is_refused_when_the_text_is_parsed():
    source = f"def compute_reward(position, *, w: float = {'9' * 400}):\n    return {{'p': w * position}}\n"
    assert [each.detector for each in check_form(draft("a", source), card())] == ["forbidden-literal"]


def test_a_detector_that_fails_or_takes_too_long_costs_one_warning(monkeypatch):
    def fails(reading):
        raise RecursionError

    def hangs(reading):
        while True:
            pass

    fails.__module__ = hangs.__module__ = static_reading.__name__
    monkeypatch.setattr(static_reading, "TIME_LIMIT_S", 0.05)
    for find, words in ((fails, "RecursionError"), (hangs, "more than 0.05 s")):
        with static_detector(find):
            (found,) = static_reading.read_within_limits(reward("x = position"), card())
        assert (found.gate, found.detector, found.severity) == ("static", "not-read", "warn") and words in found.message


def lines(line: str) -> Callable[[int], str]:
    return lambda n: "\n    ".join(line.replace("#", str(i)) for i in range(n))


def nested(left: str, right: str, most: int) -> Callable[[int], str]:
    return lambda n: f"x = {left * (n * most // 400)}0{right * (n * most // 400)}"


GROWING: dict[str, Callable[[int], str]] = {
    "subscripts": nested("h[", "]", 24),
    "subscripts on the left": lambda n: f"{'h[' * (n // 16)}0{']' * (n // 16)} = 1",
    "subscripts that are added to": lambda n: f"{'h[' * (n // 16)}0{']' * (n // 16)} += 1",
    "subscripts of subscripts": lambda n: f"x = h{'[0]' * (n // 16)}",
    "calls": nested("abs(", ")", 24),
    "methods": lambda n: f"x = h{'.abs()' * (n // 16)}",
    "brackets": nested("[", "]", 24),
    "conditions": nested("(0 if ", " else 1)", 24),
    "lambdas": nested("(lambda: ", ")", 24),
    "comprehensions": nested("[0 for i in ", "]", 12),
    "tolerances": nested("tolerance(h, (0, ", "))", 12),
    "signs": nested("-(h * ", ")", 24),
    "blocks": lambda n: (
        "\n".join(" " * 4 * (depth > 0) + " " * depth + "if h.ndim:" for depth in range(n // 16))
        + "\n"
        + " " * (n // 16 + 5)
        + "x = h"
    ),
    "unknown names": lines("x = a#"),
    "unknown functions": lines("a#(0)"),
    "unknown methods": lines("h.a#()"),
    "unknown functions of torch": lines("torch.a#(0)"),
    "assignments": lines("x = h"),
    "names": lines("a# = h"),
    "chains of names": lines("a# = h + 1.0"),
    "functions": lines("f# = lambda x: x"),
    "functions given twice": lambda n: "\n    ".join(f"f{i % (n // 2)} = lambda x: x" for i in range(n)),
    "functions that call functions": lines("f# = lambda x: f1(x)"),
    "dicts": lines("d = {'a': h}"),
    "texts": lambda n: f"x = '{'x' * 30 * n}'",
    "comments": lambda n: "# " + "x" * 30 * n,
}


def steps(source: str) -> int:
    """Calls of functions that it takes to read a text by all that reads it in the process of the user."""
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    parse_source.cache_clear()
    source_fingerprint.cache_clear()
    sys.setprofile(note)
    try:
        candidate = draft("a", source)
        if all(each.gate != "parse" for each in check_form(candidate, card())):
            source_fingerprint(source)
        find_suspicions(source, card())
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("kind", GROWING)
def test_a_text_of_twice_the_size_takes_twice_the_steps(kind):
    def text(n: int) -> str:
        return f"def compute_reward(position):\n    h = position\n    {GROWING[kind](n)}\n    return {{'h': h}}\n"

    assert not isinstance(parse_source(text(400)), Finding), parse_source(text(400))
    half, whole = steps(text(200)), steps(text(400))
    assert whole < 2.6 * half + 2000, (half, whole)
