"""Everything that a reward must not do is refused, by the detector for it, before anything runs."""

import time

import pytest

from rewardgen.reward.language import check_language
from rewardgen.reward.program import RewardError, compile_reward
from tests.reward.attacks import BODY, WHOLE, source

REFUSED = {name: (source(body), detector) for name, (body, detector) in BODY.items()} | WHOLE
SEEN_AT_RUN_TIME = {name for name, (_, detector) in REFUSED.items() if detector is None}


@pytest.mark.parametrize("name", sorted(set(REFUSED) - SEEN_AT_RUN_TIME))
def test_an_attack_is_refused_with_its_line_and_a_remedy(name):
    text, detector = REFUSED[name]
    findings = check_language(text)
    assert detector in [finding.detector for finding in findings], findings
    assert all(finding.severity == "reject" and finding.hint and finding.message for finding in findings)
    assert all(finding.line for finding in findings)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_an_attack_is_never_compiled_into_a_working_program(name):
    text, _ = REFUSED[name]
    with pytest.raises(RewardError):
        import torch

        compile_reward(text)({"height": torch.ones(4)})


@pytest.mark.parametrize(
    "text",
    {
        "empty": "",
        "blank": " \n\t\n",
        "nul": "def compute_reward(height):\n    return {'h': height}\x00",
        "ten megabytes": "x = 1\n" * 1_700_000,
        "one long line": "x = " + "1+" * 4_000_000 + "1",
        "a thousand brackets": "(" * 1000 + ")" * 1000,
        "a thousand minus signs": "x = " + "-" * 5000 + "1",
        "some hundred minus signs": f"def compute_reward(height):\n    return {{'h': {'-' * 300}height}}\n",
        "a thousand nots": "x = " + "not " * 3000 + "1",
        "long sum": "x = " + "+".join(["1"] * 5000),
        "deep indentation": "".join(" " * i + "if True:\n" for i in range(200)),
        "deep attributes": "x = a" + ".b" * 5000,
        "deep calls": "x = f" + "()" * 5000,
        "mixed tabs": "def compute_reward(height):\n\tx = 1\n        return {'h': height}\n",
        "lone surrogate": "x = '\ud800'",
        "unclosed string": "x = '''",
        "half a function": "def compute_reward(height",
        "prose": "Here is the reward you asked for.",
        "many digits": "x = " + "9" * 10_000,
        "form feed and bell": "\x07x = 1",
        "return at top": "return 1",
        "break outside": "break",
        "parameter twice": "def compute_reward(height, height):\n    return {'h': height}",
        "bad escape": "x = '\\N{NO SUCH NAME}'",
        "binary": bytes(range(256)).decode("latin-1"),
    }.items(),
    ids=lambda item: item[0],
)
def test_malformed_text_is_refused_at_once_and_without_an_exception(text):
    start = time.perf_counter()
    findings = check_language(text[1])
    assert time.perf_counter() - start < 2.0
    assert findings
    assert all(finding.severity == "reject" for finding in findings)


def test_a_refusal_names_line_construct_and_remedy():
    text = "def compute_reward(height):\n    while True:\n        pass\n    return {'h': height}\n"
    (finding,) = check_language(text)
    assert (finding.gate, finding.detector, finding.line) == ("language", "forbidden-construct", 2)
    assert "`while`" in finding.message
    assert "torch function over the whole batch" in finding.hint


def test_a_misspelt_method_is_answered_with_the_nearest_one():
    (finding,) = check_language("def compute_reward(height):\n    return {'h': height.clmap(0.0, 1.0)}\n")
    assert "`.clamp()`" in finding.hint


def test_all_refusals_of_a_reward_are_listed_in_the_order_of_lines():
    text = source("x = eval('1')\nheight[0] = 1\nimport os")
    assert [finding.detector for finding in check_language(text)] == [
        "unknown-function",
        "changes-input",
        "forbidden-import",
    ]
