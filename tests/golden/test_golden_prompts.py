"""The prompts of three tasks as they are sent, kept to be read; `python -m tests.golden.regenerate` writes them."""

import re

import pytest

from tests.golden.requests import HERE, records, rendered, text

NAMES = sorted(rendered())


def tokens(messages) -> int:
    """About as many as GPT-4's tokenizer counts on these prompts, within 2 %; it has runs of letters and digits."""
    return len(re.findall(r"\d{1,3}|[A-Za-z]{1,6}|[^\sA-Za-z\d]", text(messages)))


@pytest.mark.parametrize("name", NAMES)
def test_prompt_is_the_golden_one(name):
    kept = (HERE / "prompts" / f"{name}.md").read_text()
    assert text(rendered()[name]) == kept, "read the change, then run `python -m tests.golden.regenerate`"


def test_every_golden_file_is_compared():
    assert sorted(path.stem for path in (HERE / "prompts").glob("*.md")) == NAMES


def test_prompt_of_a_later_generation_on_hopper_is_under_4300_tokens():
    _, (_, parent) = records("hopper")
    assert parent.result and len(parent.result.slices[0].components) == 6
    assert tokens(rendered()["hopper-edit"]) < 4300


def test_a_diagnosis_prompt_is_under_2500_tokens():
    assert tokens(rendered()["hopper-diagnosis"]) < 2500


def test_a_first_prompt_is_under_3000_tokens_and_any_is_under_6000():
    for name, messages in rendered().items():
        assert tokens(messages) < (3000 if name.endswith("-draft") else 6000), name
