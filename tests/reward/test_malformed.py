"""Whatever text or file is given for a reward: a clear rejection at once, or a reward."""

import gzip
import time

import pytest
import torch

from rewardgen.core.errors import UsageError
from rewardgen.reward.language import check_language
from rewardgen.reward.program import RewardError, compile_reward
from rewardgen.reward.signature import check_signature
from rewardgen.search.inspect_rewards import read_reward

SOUND = "def compute_reward(height):\n    return {'h': height}\n"

MALFORMED = {
    # Not a program.
    "empty": "",
    "prose": "Here is the reward you asked for.",
    "markdown": f"```python\n{SOUND}```",
    "another language": "double compute_reward(double height) { return height; }",
    "notebook magic": f"%matplotlib inline\n{SOUND}",
    "binary": bytes(range(256)).decode("latin-1"),
    "compressed": gzip.compress(SOUND.encode()).decode("latin-1"),
    # Characters.
    "nul": SOUND + "\x00",
    "escape sequence": f"# \x1b[2J\n{SOUND}",
    "lone surrogate": "x = '\ud800'",
    "reading direction": f"# \u202e{SOUND}",
    "typographic quotes": "def compute_reward(height):\n    return {\u2018h\u2019: height}\n",
    # Broken.
    "half a function": "def compute_reward(height",
    "mixed tabs": "def compute_reward(height):\n\tx = 1\n        return {'h': height}\n",
    "parameter twice": "def compute_reward(height, height):\n    return {'h': height}",
    # Too large or too deep.
    "ten megabytes": "x = 1\n" * 1_700_000,
    "one long line": "x = " + "1+" * 4_000_000 + "1",
    "a thousand brackets": "(" * 1000 + ")" * 1000,
    "a thousand minus signs": "x = " + "-" * 5000 + "1",
    "a thousand lambdas": "x = " + "lambda: " * 1000 + "1",
    "a thousand nested f-strings": "x = " + "f'{" * 1000 + "1" + "}'" * 1000,
    "a thousand nested functions": "".join(" " * i + f"def f{i}():\n" for i in range(1000)),
    "long sum": "x = " + "+".join(["1"] * 5000),
    "deep attributes": "x = a" + ".b" * 5000,
    "many parameters": f"def compute_reward({', '.join(f'p{i}' for i in range(5000))}):\n    return {{'h': p0}}\n",
    "many lines": "\n" * 30_000 + SOUND,
    # Not one plain function of that name.
    "no function": "height = 1.0\n",
    "two functions": SOUND * 2,
    "lambda only": "compute_reward = lambda height: {'h': height}\n",
    "method": "class Task:\n    def compute_reward(self, height):\n        return {'h': height}\n",
    "generator": "def compute_reward(height):\n    yield {'h': height}\n",
    "no inputs": "def compute_reward():\n    return {'h': 1.0}\n",
    "deleted": SOUND + "del compute_reward\n",
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_text_is_rejected_at_once_and_without_an_exception(name):
    start = time.perf_counter()
    findings = (*check_language(MALFORMED[name]), *check_signature(MALFORMED[name], ["height"]))
    assert time.perf_counter() - start < 2.0
    assert findings
    assert all(finding.severity == "reject" and finding.message and finding.hint for finding in findings)
    assert all(len(finding.message) < 400 for finding in findings)
    with pytest.raises(RewardError) as caught:
        compile_reward(MALFORMED[name])
    assert caught.value.hint


@pytest.mark.parametrize(
    "text",
    {
        "windows": SOUND.replace("\n", "\r\n"),
        "tabs": SOUND.replace("    ", "\t"),
        "mark of byte order": "\ufeff" + SOUND,
        "no last newline": SOUND.strip(),
        "coding line": f"# -*- coding: latin-1 -*-\n{SOUND}",
        "other letters in comments": f"# \u00e9\u00df\u4e2d\u6587 \U0001f916\n{SOUND}",
        "letters of other scripts": SOUND.replace("{'h': height}", "{'h': \u03b1}").replace(
            "    return", "    \u03b1 = height\n    return"
        ),
    }.items(),
    ids=lambda item: item[0],
)
def test_what_is_harmless_is_a_reward(text):
    assert check_language(text[1]) == ()
    assert compile_reward(text[1])({"height": torch.ones(3)})["h"].tolist() == [1.0] * 3


@pytest.mark.parametrize(
    "content",
    {
        "utf-16": SOUND.encode("utf-16"),
        "latin-1": f"# \u00e9\n{SOUND}".encode("latin-1"),
        "binary": bytes(range(256)) * 40_000,
        "cut in a letter": SOUND.encode() + "\u00e9".encode()[:1],
    }.items(),
    ids=lambda item: item[0],
)
def test_a_file_that_is_not_utf_8_is_rejected_by_name_at_once(content, tmp_path):
    path = tmp_path / "mine.py"
    path.write_bytes(content[1])
    start = time.perf_counter()
    with pytest.raises(UsageError, match=r"mine\.py is not UTF-8") as caught:
        read_reward(path)
    assert time.perf_counter() - start < 2.0
    assert caught.value.hint
