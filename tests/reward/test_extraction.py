"""The reward is found whole in whatever a language model answers."""

import pytest

from rewardgen.reward.extraction import extract_source

REWARD = '''import torch

WIDTH = 0.3


def bell(x):
    return torch.exp(-(x / WIDTH) ** 2)


def compute_reward(height, *, weight: float = 1.0):
    """Stand up."""
    up = weight * bell(height - 1.25)

    return {
        "up": up,
    }
'''


@pytest.mark.parametrize("tag", ["python", "py", "Python3", "", "python title='reward.py'"])
@pytest.mark.parametrize("fence", ["```", "````", "~~~"])
def test_a_fenced_block_is_taken_whole_whatever_its_tag(tag, fence):
    assert extract_source(f"Here it is:\n\n{fence}{tag}\n{REWARD}{fence}\n\nGood luck.") == REWARD


def test_the_last_of_several_versions_is_taken():
    draft = REWARD.replace("1.25", "9.99")
    assert extract_source(f"First:\n```python\n{draft}```\nBetter:\n```python\n{REWARD}```\n") == REWARD


def test_a_version_that_parses_is_taken_before_a_later_one_that_does_not():
    broken = "def compute_reward(height):\n    return {'h': ...height}\n"
    assert extract_source(f"```python\n{REWARD}```\nor in short\n```python\n{broken}```\n") == REWARD


def test_blocks_of_other_things_are_passed_over():
    reply = f'```json\n{{"diagnosis": "def compute"}}\n```\n```python\n{REWARD}```\n```bash\npip install torch\n```\n'
    assert extract_source(reply) == REWARD


def test_an_unclosed_fence_reaches_to_the_end():
    assert extract_source(f"Sure.\n```python\n{REWARD}") == REWARD


def test_a_fence_of_another_kind_inside_a_block_does_not_close_it():
    inside = REWARD.replace('"""Stand up."""', '"""Stand up.\n\n    ~~~\n    """')
    assert extract_source(f"```python\n{inside}```") == inside


def test_code_without_a_fence_is_found_between_prose():
    assert extract_source(f"Here is the reward I propose:\n\n{REWARD}\nIt rewards standing.\nThat is all.") == REWARD


def test_a_reply_of_nothing_but_code_is_taken_as_it_is():
    assert extract_source(f'"""A module docstring."""\n{REWARD}') == f'"""A module docstring."""\n{REWARD}'


def test_windows_line_ends_and_a_byte_order_mark_do_not_matter():
    reply = "\ufeff" + f"Sure:\n```python\n{REWARD}```".replace("\n", "\r\n")
    assert extract_source(reply) == REWARD


def test_an_indented_block_in_a_list_is_moved_to_the_left():
    indented = "".join(f"   {line}\n" if line else "\n" for line in REWARD.splitlines())
    assert extract_source(f"1. The reward:\n\n   ```python\n{indented}   ```\n2. Done.") == REWARD


@pytest.mark.parametrize("reply", ["", "I cannot do that.", "```\n```", "```json\n{}\n```", "\x00\x01", "`x = 1`"])
def test_a_reply_without_code_gives_an_empty_source(reply):
    assert extract_source(reply) == ""


def test_a_function_of_another_name_is_kept_for_the_critic_to_judge():
    assert extract_source("```python\ndef reward(height):\n    return {'h': height}\n```").startswith("def reward")


def test_an_enormous_reply_is_searched_in_no_time():
    assert extract_source("word " * 2_000_000) == ""
    assert extract_source("```" * 1_000_000) == ""
    assert extract_source("(\n" * 300_000 + "def compute_reward(height):\n") != ""
